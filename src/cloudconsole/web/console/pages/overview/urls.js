// Common URLs: type, link and copy button.

import { copyButton } from "../../components/copy_button.js";
import { externalLink, h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";

const TYPES = { "URL链接": "urls.link", "URL目录": "urls.directory" };

export function urls(items) {
  if (items.length === 0) return h("p", { class: "empty" }, t("urls.empty"));
  return h("ul", { class: "url-list" }, items.map(urlItem));
}

function urlItem({ id, type, url }) {
  // Broken after slashes first.
  const text = h("bdi", {}, url.split(/(?<=[^:/][/?&])(?![/?&])/).map((part, index) => [index > 0 && h("wbr"), part]));
  return h(
    "li",
    { "data-url": id },
    h("span", { class: "url-type" }, Object.hasOwn(TYPES, type) ? t(TYPES[type]) : type),
    h("span", { class: "url-text" }, externalLink(url, text)),
    copyButton(url, url, text),
  );
}

// Common URLs: what kind each is, the address itself, and a button that copies it.

import { h, outside } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { copyButton } from "../../components/copy_button.js";

const TYPES = { "URL链接": "urls.link", "URL目录": "urls.directory" };

export function urls(items) {
  if (items.length === 0) return h("p", { class: "nothing" }, t("urls.nothing"));
  return h("ul", { class: "url-list" }, items.map(shown));
}

function shown({ id, type, url }) {
  const address = h("bdi", {}, url);
  return h(
    "li",
    { "data-url": id },
    h("span", { class: "tag" }, Object.hasOwn(TYPES, type) ? t(TYPES[type]) : type),
    h("span", { class: "url-address" }, outside(url, address)),
    copyButton(url, url, address),
  );
}

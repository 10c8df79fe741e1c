// The page footer: links for developers.

import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";

export function renderFooter(footer) {
  replace(
    footer,
    h(
      "p",
      {},
      h("span", {}, t("footer.developers")),
      h("a", { href: "/docs/" }, t("footer.reference")),
      h("a", { href: "/openapi.json", class: "muted" }, t("footer.openapi")),
    ),
  );
}

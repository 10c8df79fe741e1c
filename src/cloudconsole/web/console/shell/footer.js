// The foot of every page: the way for those who write programs.

import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";

export function fillFooter(footer) {
  replace(
    footer,
    h(
      "p",
      {},
      h("span", {}, t("shell.programs")),
      h("a", { href: "/docs/" }, t("shell.reference")),
      h("a", { href: "/openapi.json", class: "quiet" }, t("shell.openapi")),
    ),
  );
}

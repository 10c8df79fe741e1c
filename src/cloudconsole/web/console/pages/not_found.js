// What is shown at an address that no page has.

import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";

export const page = {
  path: null,
  title: "missing.title",
  show() {
    return [
      h("h1", {}, t("missing.title")),
      h("p", {}, t("missing.text")),
      h("p", {}, h("a", { href: "#/" }, t("missing.home"))),
    ];
  },
};

// The page for unknown routes.

import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";

export const page = {
  path: null,
  title: "not_found.title",
  render() {
    return h(
      "div",
      { class: "card not-found" },
      h("h1", {}, t("not_found.title")),
      h("p", {}, t("not_found.text")),
      h("p", {}, h("a", { class: "button primary", href: "#/" }, t("not_found.home"))),
    );
  },
};

// The details of one domain of the list, below a link to the list. The domain's name becomes the page's heading.

import { announce } from "../../components/announce.js";
import { ApiError } from "../../core/api.js";
import { h, replace } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { panel } from "../../core/panel.js";
import { domainCommands, domainDetail, domainOrIdError, stateBadges } from "./detail.js";

export function domainPanel(domainId, head) {
  const heading = head.querySelector("h1");
  replace(heading, h("bdi", {}, domainId));
  head.prepend(h("nav", { class: "breadcrumb", "aria-label": t("domain.breadcrumb") }, backLink()));
  const detail = panel({
    name: "domain",
    load: () => domainOrIdError(domainId),
    render: (result) => (result instanceof ApiError ? notFound(result) : show(result)),
  });

  function notFound(error) {
    const isUnknown = error.error === "domain_not_found";
    if (isUnknown) {
      replace(heading, t("domain.not_found.title"));
      document.title = t("title.page", { page: t("domain.not_found.title") });
    }
    const text = isUnknown ? t("domain.not_found", { id: domainId }) : error.message;
    return h("p", { class: "notice danger", role: "alert" }, text);
  }

  function show(domain) {
    replace(heading, h("bdi", {}, domain.domainName));
    head.append(stateBadges(domain), domainCommands(domain));
    document.title = t("title.page", { page: domain.domainName });
    announce(t("domain.found", { name: domain.domainName }));
    return domainDetail(domain);
  }

  return detail;
}

function backLink() {
  return h("a", { href: "#/domain" }, h("span", { "aria-hidden": "true" }, "←"), t("domain.all"));
}

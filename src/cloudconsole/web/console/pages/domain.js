// The domain page: look up one accelerated domain by its ID, which is part of the URL.

import { announce } from "../components/announce.js";
import { ApiError } from "../core/api.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call } from "../core/session.js";
import { domainDetail } from "./domain/detail.js";
import { lookupForm } from "./domain/lookup.js";
import { addRecent } from "./domain/recent.js";

export const page = { path: "domain", title: "nav.domain", render };

function render(route) {
  const domainId = route.parameter.trim();
  const form = lookupForm(domainId, (id) => route.navigate(`domain/${encodeURIComponent(id)}`));
  const heading = h("h1", {}, t("nav.domain"));
  if (domainId === "") return [heading, form];
  const detail = panel({
    name: "domain",
    load: () => domainOrFieldError(domainId),
    render: (result) => {
      if (result instanceof ApiError) return form.showError(result);
      addRecent(domainId);
      announce(t("domain.found", { name: result.domainName }));
      return domainDetail(result);
    },
  });
  return [heading, form, detail];
}

// An error about the ID is shown at the field, without a retry button.
async function domainOrFieldError(domainId) {
  try {
    return await call("GetDomainDetail", { domainId });
  } catch (error) {
    if (error.field !== "domainId") throw error;
    return error;
  }
}

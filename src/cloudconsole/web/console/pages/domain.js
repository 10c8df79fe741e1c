// One accelerated domain: looked up by its id, at an address of its own.

import { h } from "../core/dom.js";
import { Refused } from "../core/api.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call } from "../core/session.js";
import { announce } from "../components/announce.js";
import { domainDetail } from "./domain/detail.js";
import { lookUp } from "./domain/lookup.js";
import { remember } from "./domain/recent.js";

export const page = { path: "domain", title: "nav.domain", show };

function show(place) {
  const wanted = place.rest.trim();
  const form = lookUp(wanted, (id) => place.go(`domain/${encodeURIComponent(id)}`));
  const head = h("h1", {}, t("nav.domain"));
  if (wanted === "") return [head, form];
  const found = panel({
    kind: "domain",
    load: () => detailOrRefusal(wanted),
    show: (answer) => {
      if (answer instanceof Refused) return form.complain(answer);
      remember(wanted);
      announce(t("domain.found", { name: answer.domainName }));
      return domainDetail(answer);
    },
  });
  return [head, form, found];
}

// An id that the console does not know is no failure of a call: it is told at the field, and trying again is of no use.
async function detailOrRefusal(domainId) {
  try {
    return await call("GetDomainDetail", { domainId });
  } catch (problem) {
    if (problem.field !== "domainId") throw problem;
    return problem;
  }
}

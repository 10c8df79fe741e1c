// Lookup of a domain by ID: an input with its error message, links to recent lookups, and the domain that was found.

import { announce } from "../../components/announce.js";
import { ApiError } from "../../core/api.js";
import { h, newId, replace } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { panel } from "../../core/panel.js";
import { domainCommands, domainDetail, domainOrIdError } from "./detail.js";
import { addRecent, recentIds } from "./recent.js";

export function lookup(domainId, route) {
  const form = lookupForm(domainId, (id) => route.navigate(`domain/${encodeURIComponent(id)}`));
  if (domainId === "") return form;
  const detail = panel({
    name: "domain",
    load: () => domainOrIdError(domainId),
    render: (result) => {
      if (result instanceof ApiError) return form.showError(result);
      addRecent(domainId);
      announce(t("domain.found", { name: result.domainName }));
      const heading = h("h2", { class: "domain-name" }, h("bdi", {}, result.domainName));
      return [h("header", { class: "panel-head" }, heading, domainCommands(result)), domainDetail(result)];
    },
  });
  return [form, detail];
}

// The form's `showError` method shows an API error about the ID.
function lookupForm(domainId, onSubmit) {
  const id = newId("domain-id");
  const [hintId, errorId] = [`${id}-hint`, `${id}-error`];
  const input = h("input", {
    id,
    name: "domainId",
    value: domainId,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    "aria-describedby": `${hintId} ${errorId}`,
  });
  const error = h("p", { class: "error", id: errorId, role: "alert" });

  function setMessage(message) {
    replace(error, message);
    if (message) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }

  function submit(event) {
    event.preventDefault();
    // URLs cannot contain lone surrogates; they become U+FFFD.
    const typed = input.value.trim().toWellFormed();
    setMessage(typed === "" ? t("domain.id.missing") : null);
    if (typed === "") input.focus();
    else onSubmit(typed);
  }

  const form = h(
    "form",
    { class: "card lookup", role: "search", novalidate: true, onsubmit: submit },
    h(
      "div",
      { class: "field" },
      h("label", { for: id }, t("domain.id")),
      h("div", { class: "lookup-row" }, input, h("button", { class: "primary" }, t("domain.lookup"))),
      h("p", { class: "hint", id: hintId }, t("domain.id.hint")),
      error,
    ),
    recentLookups(domainId),
  );
  form.showError = (apiError) => {
    const isUnknown = apiError.error === "domain_not_found";
    setMessage(isUnknown ? t("domain.not_found", { id: domainId }) : apiError.message);
    // Do not move the focus if the user has moved on meanwhile.
    if (!document.activeElement.matches("body, h1") && !form.contains(document.activeElement)) return;
    input.focus();
    input.select();
  };
  return form;
}

function recentLookups(domainId) {
  const ids = recentIds().filter((each) => each !== domainId);
  if (ids.length === 0) return null;
  const link = (each) => h("li", {}, h("a", { href: `#/domain/${encodeURIComponent(each)}` }, h("bdi", {}, each)));
  const id = newId("recent");
  const title = h("span", { class: "muted", id }, t("domain.recent"));
  return h("nav", { class: "recent", "aria-labelledby": id }, title, h("ul", {}, ids.map(link)));
}

// The form that asks for an id, what is wrong with it at the field, and the ids of before.

import { h, newId, replace } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { recent } from "./recent.js";

// The element's `complain` shows what the console says of the id.
export function lookUp(wanted, go) {
  const id = newId("domain-id");
  const [hint, wrong] = [`${id}-hint`, `${id}-wrong`];
  const input = h("input", {
    id,
    name: "domainId",
    value: wanted,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    "aria-describedby": `${hint} ${wrong}`,
  });
  const error = h("p", { class: "error", id: wrong, role: "alert" });

  function tell(message) {
    replace(error, message);
    if (message) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }

  function submit(event) {
    event.preventDefault();
    // Half a character, which no address can hold, becomes a sign that says so.
    const typed = input.value.trim().toWellFormed();
    tell(typed === "" ? t("domain.empty") : null);
    if (typed === "") input.focus();
    else go(typed);
  }

  const form = h(
    "form",
    { class: "card lookup", role: "search", novalidate: true, onsubmit: submit },
    h(
      "div",
      { class: "field" },
      h("label", { for: id }, t("domain.id.ask")),
      h("div", { class: "lookup-row" }, input, h("button", { class: "primary" }, t("domain.look_up"))),
      h("p", { class: "hint", id: hint }, t("domain.id.hint")),
      error,
    ),
    before(wanted),
  );
  form.complain = (refused) => {
    tell(refused.error === "domain_not_found" ? t("domain.not_found", { id: wanted }) : refused.message);
    // Whoever has gone on to something else meanwhile stays there.
    if (!document.activeElement.matches("body, h1") && !form.contains(document.activeElement)) return;
    input.focus();
    input.select();
  };
  return form;
}

function before(wanted) {
  const ids = recent().filter((each) => each !== wanted);
  if (ids.length === 0) return null;
  const link = (each) => h("li", {}, h("a", { href: `#/domain/${encodeURIComponent(each)}` }, h("bdi", {}, each)));
  const id = newId("recent");
  const title = h("span", { class: "quiet", id }, t("domain.recent"));
  return h("nav", { class: "recent", "aria-labelledby": id }, title, h("ul", {}, ids.map(link)));
}

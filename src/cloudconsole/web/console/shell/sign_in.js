// The sign-in: a form that password managers know, with every error where the eye is.

import { h, replace } from "../core/dom.js";
import * as kept from "../core/storage.js";
import { language, t } from "../core/i18n.js";
import { countDown, trouble } from "../core/panel.js";
import { consoleFacts, signIn } from "../core/session.js";
import { field, showError, visibility } from "./field.js";

const REGION = "region";
const AS_TYPED = { autocapitalize: "none", autocorrect: "off", spellcheck: "false" };

// `hasEnded` says that a session did; `draft` is what had been typed before. The form has `draft()` and `begin()`,
// which puts the keyboard where there is something to type.
export function signInForm({ hasEnded, draft }) {
  const username = field("username", h("input", { autocomplete: "username", ...AS_TYPED }));
  const password = field("password", h("input", { type: "password", autocomplete: "current-password" }), visibility);
  const region = field("region", h("select", { disabled: true }));
  const fields = { username, password, region };
  username.input.value = draft.username ?? "";
  password.input.value = draft.password ?? "";

  const regionPlace = h("div", {}, region.element);
  const problemPlace = h("div", { role: "alert" });
  const waiting = h("span", { class: "wait quiet" });
  const button = h("button", { type: "submit", class: "primary", disabled: true }, t("signin.send"));
  const ended = h("div", { class: "notice", role: "alert" }, t("signin.ended"));
  let isSending = false;
  let wasSent = draft.wasSent ?? false;
  let waitsUntil = draft.waitsUntil ?? 0;
  // The last refusal, and the language that its words are in.
  let refused = draft.refused ?? null;

  const form = h(
    "form",
    { method: "post", action: "/auth/login/", novalidate: true, class: "card sign-in", onsubmit: submit },
    h("h1", { tabindex: "-1" }, t("signin.title")),
    hasEnded && !draft.wasSent && ended,
    username.element,
    password.element,
    regionPlace,
    problemPlace,
    h("div", { class: "row" }, button, waiting),
  );

  async function offerRegions() {
    replace(regionPlace, region.element);
    try {
      const { regions } = await consoleFacts();
      const known = [draft.region, kept.read(REGION)].find((each) => regions.includes(each));
      replace(
        region.input,
        regions.length > 1 && !known && h("option", { value: "" }, t("signin.region.choose")),
        regions.map((each) => h("option", { value: each, selected: each === known }, each)),
      );
      region.input.disabled = button.disabled = false;
      wait();
    } catch (problem) {
      replace(regionPlace, h("div", { class: "notice bad" }, trouble(problem, offerAgain)));
    }
  }

  async function offerAgain() {
    await offerRegions();
    regionPlace.querySelector("select, button")?.focus();
  }

  async function submit(event) {
    event.preventDefault();
    if (isSending || button.disabled || !isComplete()) return;
    wasSent = true;
    ended.remove();
    say(null);
    working(true);
    try {
      const sent = values();
      await signIn(sent);
      kept.write(REGION, sent.region);
    } catch (problem) {
      working(false);
      tell(problem);
    }
  }

  function values() {
    return Object.fromEntries(Object.entries(fields).map(([name, { input }]) => [name, input.value]));
  }

  function isComplete() {
    const missing = Object.values(fields).filter(({ name, input, error }) => {
      showError({ input, error }, input.value === "" && t(`signin.${name}.missing`));
      return input.value === "";
    });
    missing[0]?.input.focus();
    return missing.length === 0;
  }

  function working(isWorking) {
    isSending = isWorking;
    button.setAttribute("aria-disabled", String(isWorking));
    form.setAttribute("aria-busy", String(isWorking));
    replace(button, t(isWorking ? "signin.sending" : "signin.send"));
    // What is sent, or kept by a password manager, is a password.
    if (isWorking) password.tool.hide();
  }

  function tell(problem) {
    const part = fields[problem.field];
    if (part) {
      showError(part, problem.message);
      part.input.focus();
      return;
    }
    say(problem);
    if (problem.error === "invalid_credentials") {
      password.input.value = "";
      password.input.focus();
    }
    if (problem.retryAfter) {
      waitsUntil = performance.now() + problem.retryAfter * 1000;
      wait();
      // A button that cannot be used cannot keep the keyboard.
      password.input.focus();
    }
  }

  function wait() {
    const seconds = Math.ceil((waitsUntil - performance.now()) / 1000);
    if (seconds > 0) countDown(seconds, button, waiting);
  }

  function say(problem) {
    refused = problem && { problem, lang: language() };
    showRefused();
  }

  function showRefused() {
    const shown = ({ problem, lang }) =>
      h("div", { class: "notice bad" }, h("p", { lang }, problem.message), quote(problem));
    replace(problemPlace, refused && shown(refused));
  }

  form.begin = () => (username.input.value === "" ? username : password).input.focus();
  form.draft = () => ({ ...values(), waitsUntil, wasSent, refused });
  showRefused();
  offerRegions();
  return form;
}

function quote({ code, requestId }) {
  return code >= 500 && requestId && h("p", { class: "quiet" }, t("problem.quote", { id: requestId }));
}

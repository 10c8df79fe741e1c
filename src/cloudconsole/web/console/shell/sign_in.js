// The sign-in form, recognisable to password managers, with errors next to the fields.

import { h, replace } from "../core/dom.js";
import { language, t } from "../core/i18n.js";
import { countDown, errorBox, requestIdHint } from "../core/panel.js";
import { startRetries } from "../core/retries.js";
import { serviceInfo, signIn } from "../core/session.js";
import * as storage from "../core/storage.js";
import { field, showError, visibilityButton } from "./field.js";

const REGION_KEY = "region";
const VERBATIM = { autocapitalize: "none", autocorrect: "off", spellcheck: "false" };

// `hasEnded` adds a notice that the session ended, `hasSignedOut` that the reader has signed out; `draft` restores a previous form. The form has the methods
// `draft()` and `focusFirstField()`.
export function signInForm({ hasEnded, hasSignedOut, draft }) {
  const username = field("username", h("input", { autocomplete: "username", ...VERBATIM }));
  const passwordInput = h("input", { type: "password", autocomplete: "current-password" });
  const password = field("password", passwordInput, visibilityButton);
  const region = field("region", h("select", { disabled: true }));
  const regionText = h("p", { class: "region-text", hidden: true, tabindex: "-1" });
  // Only for users who must choose one.
  const project = field("project", h("input", { autocomplete: "off", ...VERBATIM }));
  const fields = { username, password, region };
  region.input.after(regionText);
  username.input.value = draft.username ?? "";
  password.input.value = draft.password ?? "";
  project.input.value = draft.project ?? "";
  username.input.addEventListener("input", hideProject);

  const regionSlot = h("div", {}, region.element);
  const projectSlot = h("div", {});
  const errorSlot = h("div", { role: "alert" });
  const countdown = h("span", { class: "countdown muted" });
  const button = h("button", { type: "submit", class: "primary", disabled: true }, t("signin.submit"));
  const endedNotice = h("div", { class: "notice", role: "alert" }, t("signin.ended"));
  const signedOutNotice = h("div", { class: "notice success", role: "status" }, t("signin.signed_out"));
  let isSubmitting = false;
  let retries = null;
  let wasSubmitted = draft.wasSubmitted ?? false;
  let disabledUntil = draft.disabledUntil ?? 0;
  // The last error and the language of its message.
  let lastError = draft.lastError ?? null;

  const form = h(
    "form",
    { method: "post", action: "/auth/login/", novalidate: true, class: "card sign-in", onsubmit: submit },
    h("h1", { tabindex: "-1" }, t("signin.title")),
    hasEnded && !draft.wasSubmitted && endedNotice,
    hasSignedOut && !draft.wasSubmitted && signedOutNotice,
    username.element,
    password.element,
    regionSlot,
    projectSlot,
    errorSlot,
    h("div", { class: "row" }, button, countdown),
  );

  async function loadRegions() {
    replace(regionSlot, region.element);
    try {
      const { regions } = await serviceInfo();
      // Without a choice it is text.
      regionText.hidden = regions.length > 1;
      region.input.hidden = !regionText.hidden;
      replace(regionText, regions.length === 1 && regions[0]);
      const selected = [draft.region, storage.read(REGION_KEY)].find((each) => regions.includes(each));
      replace(
        region.input,
        regions.length > 1 && !selected && h("option", { value: "" }, t("signin.region.choose")),
        regions.map((each) => h("option", { value: each, selected: each === selected }, each)),
      );
      region.input.disabled = button.disabled = false;
      startCountdown();
      retries?.stop();
    } catch (error) {
      replace(regionSlot, h("div", { class: "notice danger" }, errorBox(error, retryRegions, t("outage.retries"))));
      retries ??= startRetries(retryQuietly);
    }
  }

  // A retry that nobody asked for shows only its success.
  async function retryQuietly() {
    if (!form.isConnected) return retries.stop();
    const hadFocus = regionSlot.contains(document.activeElement);
    try {
      await serviceInfo();
    } catch {
      return;
    }
    await (hadFocus ? retryRegions() : loadRegions());
  }

  async function retryRegions() {
    await loadRegions();
    (regionSlot.querySelector("select:not([hidden]), button") ?? username.input).focus();
  }

  async function submit(event) {
    event.preventDefault();
    if (isSubmitting || button.disabled || !validate()) return;
    wasSubmitted = true;
    endedNotice.remove();
    signedOutNotice.remove();
    setError(null);
    setSubmitting(true);
    try {
      const submitted = values();
      await signIn(submitted);
      storage.write(REGION_KEY, submitted.region);
    } catch (error) {
      setSubmitting(false);
      handleError(error);
    }
  }

  function values() {
    return Object.fromEntries(Object.entries(fields).map(([name, { input }]) => [name, input.value]));
  }

  function validate() {
    const missing = Object.values(fields).filter(({ name, input, error }) => {
      showError({ input, error }, input.value === "" && t(`signin.${name}.missing`));
      return input.value === "";
    });
    missing[0]?.input.focus();
    return missing.length === 0;
  }

  function setSubmitting(value) {
    isSubmitting = value;
    button.setAttribute("aria-disabled", String(value));
    form.setAttribute("aria-busy", String(value));
    replace(button, t(value ? "signin.submitting" : "signin.submit"));
    // Password managers save only fields of type password.
    if (value) password.button.hidePassword();
  }

  function showProject() {
    fields.project = project;
    replace(projectSlot, project.element);
  }

  function hideProject() {
    delete fields.project;
    replace(projectSlot);
  }

  function handleError(error) {
    if (error.field === project.name) showProject();
    const invalid = fields[error.field];
    if (invalid) {
      showError(invalid, error.message);
      (invalid.input.hidden ? regionText : invalid.input).focus();
      return;
    }
    setError(error);
    if (error.error === "invalid_credentials") {
      password.input.value = "";
      password.input.focus();
    }
    if (error.retryAfter) {
      disabledUntil = performance.now() + error.retryAfter * 1000;
      startCountdown();
      // The disabled button cannot keep the focus.
      password.input.focus();
    }
  }

  function startCountdown() {
    const seconds = Math.ceil((disabledUntil - performance.now()) / 1000);
    if (seconds > 0) countDown(seconds, button, countdown);
  }

  function setError(error) {
    lastError = error && { error, lang: language() };
    renderError();
  }

  function renderError() {
    const notice = ({ error, lang }) =>
      h("div", { class: "notice danger" }, h("p", { lang }, error.message), error.code >= 500 && requestIdHint(error));
    replace(errorSlot, lastError && notice(lastError));
  }

  form.focusFirstField = () => (username.input.value === "" ? username : password).input.focus();
  form.draft = () => ({ ...values(), disabledUntil, wasSubmitted, lastError });
  if (draft.project !== undefined) showProject();
  renderError();
  loadRegions();
  return form;
}

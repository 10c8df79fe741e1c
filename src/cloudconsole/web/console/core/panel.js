// A section of a page that loads its own data. It shows its own loading and error states, with a retry button.

import { ApiError, invalidResponse } from "./api.js";
import { h, newId, replace } from "./dom.js";
import { t } from "./i18n.js";
import { CallCancelled, onSessionChange, serviceInfo } from "./session.js";
import { formatMoment } from "./time.js";

// After this time without a response the reader is told that it goes on.
const SLOW_MS = 8000;

const listeners = new Set();
// What panels with `isKept` have loaded last, by name: {data, moment}.
const kept = new Map();

// Listeners are called whenever a panel has been loaded, or could not be.
export function onPanelChange(listener) {
  listeners.add(listener);
}

// `load` fetches the data, `render` returns elements for it; `name` is a CSS class. With a title the panel is a card,
// without one a plain container. `render` also receives the set of what the reader has opened (see disclosure.js).
// `tools` are elements beside the title. `skeleton` returns what is known of the content before the first load, in about
// its size, so that nothing below moves. The element's `reload` method loads the data again and returns whether it
// succeeded. Until then, and if it fails, the present content stays. With `isKept`, also that of an earlier visit of the
// page; `keptAs` then stands for the data. `loaded` is the promise of the first load, and `failure` the error of the last
// one, if it failed. `render` can offer to load again what is missing with its third argument, `reload`.
export function panel({ title, load, render, name, tools = [], skeleton = () => null, isKept = false, keptAs = name }) {
  const notice = h("div", { class: "panel-notice" });
  const body = h("div", { class: "panel-body" });
  const section = title ? card(title, name, tools, notice, body) : h("div", { class: `panel ${name}` }, notice, body);
  const opened = new Set();
  let isLoading = false;
  let loadedAt = null;
  let notBefore = 0;

  async function reload() {
    if (isLoading || performance.now() < notBefore) return false;
    isLoading = true;
    const hadFocus = section.contains(document.activeElement);
    section.setAttribute("aria-busy", "true");
    const loading = h("p", { class: "loading" }, t("panel.loading"));
    if (loadedAt === null) show([], [loading, skeleton()]);
    const timer = setTimeout(() => replace(loading, t("panel.slow")), SLOW_MS);
    try {
      const moment = new Date();
      const data = await load();
      show([], render(data, opened, reload));
      loadedAt = moment;
      if (isKept) kept.set(keptAs, { data, moment });
      section.failure = null;
      return true;
    } catch (error) {
      if (error instanceof CallCancelled) return false;
      // Retry-After applies to every reload, not only to the retry button.
      notBefore = performance.now() + (error.retryAfter ?? 0) * 1000;
      section.failure = toApiError(error);
      const message = errorBox(section.failure, reload);
      if (loadedAt === null && isKept && kept.has(keptAs)) showKept();
      if (loadedAt === null) show([message, h("p", { class: "not-loaded" }, t("panel.not_loaded"))], []);
      else replace(notice, message, asOf(loadedAt));
      return false;
    } finally {
      clearTimeout(timer);
      isLoading = false;
      section.removeAttribute("aria-busy");
      section.classList.toggle("is-outdated", loadedAt !== null && notice.hasChildNodes());
      if (hadFocus) restoreFocus(section);
      for (const listener of listeners) listener();
    }
  }

  function showKept() {
    const { data, moment } = kept.get(keptAs);
    show([], render(data, opened, reload));
    loadedAt = moment;
  }

  function show(message, content) {
    replace(notice, message);
    replace(body, content);
  }

  section.failure = null;
  section.reload = reload;
  section.loaded = reload();
  return section;
}

// The panels in an element, or itself, that load data themselves: a panel may consist of others.
export function panelsIn(element) {
  const all = [...(element.matches(".panel") ? [element] : []), ...element.querySelectorAll(".panel")];
  return all.filter((each) => each.querySelector(".panel") === null);
}

// Another account must not see it.
onSessionChange(() => kept.clear());

// When data was loaded, in the console's time zone.
export function asOf(moment) {
  const text = h("p", { class: "as-of" });
  const show = ({ timeZone }) => replace(text, t("panel.as_of", { time: formatMoment(moment, timeZone) }));
  serviceInfo().then(show, () => {});
  return text;
}

function card(title, name, tools, ...content) {
  const id = newId("panel");
  const head = h("header", { class: "panel-head" }, h("h2", { id }, title), tools);
  return h("section", { class: `card panel ${name}`, "aria-labelledby": id }, head, content);
}

// An exception while rendering means unexpected data. Report it to the browser's console and show an API error.
export function toApiError(error) {
  if (error instanceof ApiError) return error;
  reportError(error);
  return invalidResponse({ code: 200 });
}

// When the focused element was replaced, keep the keyboard position in this panel.
function restoreFocus(section) {
  if (!section.isConnected || document.activeElement !== document.body) return;
  const target = section.querySelector(".error-box button:enabled") ?? section.querySelector("h2") ?? section;
  // Headings are focusable only with a tabindex.
  if (target.tabIndex < 0) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

// An error message with a retry button, which is disabled until Retry-After has passed. `hint` follows the message.
export function errorBox(error, retry, hint = null) {
  const button = h("button", { type: "button", onclick: retry }, t("panel.retry"));
  const countdown = h("span", { class: "muted" });
  if (error.retryAfter) countDown(error.retryAfter, button, countdown);
  return h(
    "div",
    { class: "error-box" },
    // The countdown is outside the alert, so that screen readers do not announce every second.
    h(
      "div",
      { role: "alert" },
      h("p", {}, error.message, hint && [" ", h("span", { class: "muted" }, hint)]),
      requestIdHint(error),
    ),
    h("p", {}, button, " ", countdown),
  );
}

// The request ID, unless the message has it already.
export function requestIdHint({ message, requestId }) {
  if (!requestId || message.includes(requestId)) return null;
  return h("p", { class: "muted" }, t("error.request_id", { id: requestId }));
}

// Disable a button for some seconds and show the remaining time.
export function countDown(seconds, button, output) {
  // A monotonic clock: the system clock may change meanwhile.
  const end = performance.now() + seconds * 1000;
  const tick = (isFirst) => {
    const left = Math.ceil((end - performance.now()) / 1000);
    button.disabled = left > 0;
    replace(output, left > 0 && t("error.retry_in", { seconds: left }));
    if (left > 0 && (isFirst || button.isConnected)) setTimeout(tick, 1000, false);
  };
  tick(true);
}

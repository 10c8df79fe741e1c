// A section of a page that loads its own data. It shows its own loading and error states, with a retry button.

import { ApiError, invalidResponse } from "./api.js";
import { h, newId, replace } from "./dom.js";
import { t } from "./i18n.js";
import { CallCancelled } from "./session.js";

// `load` fetches the data, `render` returns elements for it; `name` is a CSS class. With a title the panel is a card,
// without one a plain container. The element's `reload` method loads the data again, keeps the current content until
// then, and returns whether it succeeded.
export function panel({ title, load, render, name }) {
  const body = h("div", { class: "panel-body" });
  const section = title ? card(title, name, body) : h("div", { class: `panel ${name}` }, body);
  let isLoading = false;
  let hasContent = false;
  let notBefore = 0;

  async function reload() {
    if (isLoading || performance.now() < notBefore) return false;
    isLoading = true;
    const hadFocus = body.contains(document.activeElement);
    section.setAttribute("aria-busy", "true");
    if (!hasContent) replace(body, h("p", { class: "loading" }, t("panel.loading")));
    try {
      replace(body, render(await load()));
      hasContent = true;
      return true;
    } catch (error) {
      if (error instanceof CallCancelled) return false;
      // Retry-After applies to every reload, not only to the retry button.
      notBefore = performance.now() + (error.retryAfter ?? 0) * 1000;
      replace(body, errorBox(toApiError(error), reload));
      hasContent = false;
      return false;
    } finally {
      isLoading = false;
      section.removeAttribute("aria-busy");
      if (hadFocus) restoreFocus(section, body);
    }
  }

  section.reload = reload;
  reload();
  return section;
}

function card(title, name, body) {
  const id = newId("panel");
  const head = h("header", { class: "panel-head" }, h("h2", { id }, title));
  return h("section", { class: `card panel ${name}`, "aria-labelledby": id }, head, body);
}

// An exception while rendering means unexpected data. Report it to the browser's console and show an API error.
function toApiError(error) {
  if (error instanceof ApiError) return error;
  reportError(error);
  return invalidResponse({ code: 200 });
}

// When the focused element was replaced, keep the keyboard position in this panel.
function restoreFocus(section, body) {
  if (!section.isConnected || document.activeElement !== document.body) return;
  const target = body.querySelector(".error-box button:enabled") ?? section.querySelector("h2") ?? body;
  // Headings are focusable only with a tabindex.
  if (target.tabIndex < 0) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

// An error message with a retry button, which is disabled until Retry-After has passed.
export function errorBox(error, retry) {
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
      h("p", {}, error.message),
      error.requestId && h("p", { class: "muted" }, t("error.request_id", { id: error.requestId })),
    ),
    h("p", {}, button, " ", countdown),
  );
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

// One message instead of an error in each panel, when all panels of the page have failed for the same reason. While it is
// shown, the console is tried again by itself. A single panel shows its own error, unless the console is unavailable.

import { announce } from "../components/announce.js";
import { fetchServiceInfo } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { errorBox, onPanelChange, panelsIn } from "../core/panel.js";
import { startRetries } from "../core/retries.js";

const CLASS = "has-outage";

// Those of the message that is shown, or null.
let retries = null;

// `element` is for the message, `main` contains the panels.
export function watchPanels(element, main) {
  onPanelChange(() => {
    const panels = panelsIn(main);
    // Until all of them are done, nothing changes.
    if (panels.some((each) => each.hasAttribute("aria-busy"))) return;
    const failure = failureOf(panels);
    if (failure) show(failure, panels);
    else clearOutage(element, main);
  });

  function show(failure, panels) {
    // A retry that nobody asked for is not announced.
    if (retries?.isRunning()) return;
    const hadFocus = element.contains(document.activeElement) || document.activeElement === document.body;
    const box = errorBox(failure, () => panels.forEach((each) => each.reload()), t("outage.retries"));
    replace(element, h("div", { class: "notice danger" }, box));
    main.classList.add(CLASS);
    if (hadFocus) element.querySelector("button:enabled")?.focus({ preventScroll: true });
    retries ??= startRetries((signal) => reload(main, signal));
  }
}

export function clearOutage(element, main) {
  const hadFocus = element.contains(document.activeElement);
  retries?.stop();
  retries = null;
  replace(element);
  main.classList.remove(CLASS);
  if (hadFocus) main.focus({ preventScroll: true });
}

// One request to see whether the console responds, then one panel, and only then the others.
async function reload(main, signal) {
  try {
    await fetchServiceInfo();
  } catch {
    return;
  }
  if (signal.aborted) return;
  const [first, ...others] = panelsIn(main);
  if (!(await first?.reload())) return;
  for (const each of others) each.reload();
  announce(t("outage.over"));
}

// Why the panels have failed, if the reason is the same for all.
function failureOf(panels) {
  const failures = panels.map((each) => each.failure);
  const [first] = failures;
  const isSame = failures.every((each) => each && each.code === first.code && each.error === first.error);
  return first && isSame && (failures.length > 1 || isOutage(first)) ? first : null;
}

// Not an answer to what was asked for, such as an unknown ID.
function isOutage({ code }) {
  return code === 0 || code >= 500;
}

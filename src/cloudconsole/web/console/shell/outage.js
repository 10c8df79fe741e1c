// One message instead of an error in each panel, when all panels of the page have failed for the same reason. While it is
// shown, the console is tried again by itself.

import { announce } from "../components/announce.js";
import { fetchServiceInfo } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { errorBox, onPanelChange } from "../core/panel.js";

const CLASS = "has-outage";
const FIRST_WAIT_MS = 5000;
const MAX_WAIT_MS = 60_000;

// Those of the message that is shown, or null.
let retries = null;

// `element` is for the message, `main` contains the panels.
export function watchPanels(element, main) {
  onPanelChange(() => {
    const panels = panelsIn(main);
    // Until all of them are done, nothing changes.
    if (panels.some((each) => each.hasAttribute("aria-busy"))) return;
    const [failure] = failuresOf(panels);
    if (failure) show(failure, panels);
    else clearOutage(element, main);
  });

  function show(failure, panels) {
    // A retry that nobody asked for is not announced.
    if (retries?.isRunning()) return;
    const hadFocus = element.contains(document.activeElement) || document.activeElement === document.body;
    const box = errorBox(failure, () => panels.forEach((each) => each.reload()));
    box.querySelector("p").append(" ", h("span", { class: "muted" }, t("outage.retries")));
    replace(element, h("div", { class: "notice danger" }, box));
    main.classList.add(CLASS);
    if (hadFocus) element.querySelector("button:enabled")?.focus({ preventScroll: true });
    retries ??= startRetries(main);
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

// At growing intervals, while the page is visible. The moments are random, so that all open pages do not come at once.
function startRetries(main) {
  const aborter = new AbortController();
  let wait = FIRST_WAIT_MS;
  let timer = null;
  let isRunning = false;

  function schedule() {
    timer = setTimeout(retry, wait * (0.5 + Math.random()));
    wait = Math.min(2 * wait, MAX_WAIT_MS);
  }

  async function retry() {
    if (document.hidden) {
      document.addEventListener("visibilitychange", retry, { once: true, signal: aborter.signal });
      return;
    }
    isRunning = true;
    await reload(main, aborter.signal);
    isRunning = false;
    if (!aborter.signal.aborted) schedule();
  }

  schedule();
  return {
    isRunning: () => isRunning,
    stop() {
      clearTimeout(timer);
      aborter.abort();
    },
  };
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

// Those that load data themselves: a panel may consist of others.
function panelsIn(main) {
  return [...main.querySelectorAll(".panel")].filter((each) => each.querySelector(".panel") === null);
}

// Why the panels have failed, if there are several and the reason is the same for all.
function failuresOf(panels) {
  const failures = panels.map((each) => each.failure);
  const isSame = failures.every((each) => each && each.code === failures[0].code && each.error === failures[0].error);
  return failures.length > 1 && isSame ? failures : [];
}

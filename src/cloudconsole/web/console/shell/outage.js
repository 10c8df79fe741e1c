// One message instead of an error in each panel, when all panels of the page have failed for the same reason.

import { h, replace } from "../core/dom.js";
import { errorBox, onPanelChange } from "../core/panel.js";

const CLASS = "has-outage";

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
    const hadFocus = element.contains(document.activeElement) || document.activeElement === document.body;
    const box = errorBox(failure, () => panels.forEach((each) => each.reload()));
    replace(element, h("div", { class: "notice danger" }, box));
    main.classList.add(CLASS);
    if (hadFocus) element.querySelector("button:enabled")?.focus({ preventScroll: true });
  }
}

export function clearOutage(element, main) {
  const hadFocus = element.contains(document.activeElement);
  replace(element);
  main.classList.remove(CLASS);
  if (hadFocus) main.focus({ preventScroll: true });
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

// A part of a page with data of its own: while it loads it says so, and if it fails, it alone does, with a retry.

import { h, newId, replace } from "./dom.js";
import { t } from "./language.js";
import { SignedOut } from "./session.js";

// `load` gives the data, or several in a list; `show` gives the elements for it. `tools` stand beside the title.
export function panel({ title, load, show, tools = [], kind = "" }) {
  const id = newId("panel");
  const body = h("div", { class: "panel-body" });
  const section = h(
    "section",
    { class: `card panel ${kind}`, "aria-labelledby": id },
    h("header", { class: "panel-head" }, h("h2", { id }, title), tools),
    body,
  );

  async function fill() {
    section.setAttribute("aria-busy", "true");
    replace(body, h("p", { class: "loading" }, t("panel.loading")));
    try {
      replace(body, show(await load()));
    } catch (problem) {
      if (problem instanceof SignedOut) return;
      replace(body, trouble(problem, fill));
    } finally {
      section.removeAttribute("aria-busy");
    }
  }

  fill();
  return section;
}

// What went wrong, in words, and a button that tries again once the wait that was asked for is over.
export function trouble(problem, retry) {
  const button = h("button", { type: "button", onclick: retry }, t("panel.retry"));
  const waiting = h("span", { class: "waiting" });
  if (problem.retryAfter) countDown(problem.retryAfter, button, waiting);
  return h(
    "div",
    { class: "trouble", role: "alert" },
    h("p", {}, problem.message),
    problem.requestId && h("p", { class: "quiet" }, t("problem.quote", { id: problem.requestId })),
    h("p", {}, button, " ", waiting),
  );
}

// Keep a button from being used for some seconds, and say how many are left.
export function countDown(seconds, button, waiting) {
  const until = Date.now() + seconds * 1000;
  const tick = () => {
    const left = Math.ceil((until - Date.now()) / 1000);
    button.disabled = left > 0;
    replace(waiting, left > 0 && t("problem.wait", { seconds: left }));
    if (left > 0 && (button.isConnected || left === seconds)) setTimeout(tick, 1000);
  };
  tick();
}

// A part of a page with data of its own: while it loads it says so, and if it fails, it alone does, with a retry.

import { h, newId, replace } from "./dom.js";
import { Refused } from "./api.js";
import { t } from "./i18n.js";
import { SignedOut } from "./session.js";

// `load` gives the data, `show` the elements for it; `tools` stand beside the title. One without a title is no card,
// but a place for what brings its own headings. The element's `refill` loads anew, and tells whether
// it could; the old is shown until then.
export function panel({ title, load, show, tools = [], kind = "" }) {
  const body = h("div", { class: "panel-body" });
  const section = title ? card(title, tools, kind, body) : h("div", { class: `panel ${kind}` }, body);
  let isFilling = false;
  let isShown = false;
  let notBefore = 0;

  async function fill() {
    if (isFilling || performance.now() < notBefore) return false;
    isFilling = true;
    const hadFocus = body.contains(document.activeElement);
    section.setAttribute("aria-busy", "true");
    if (!isShown) replace(body, h("p", { class: "loading" }, t("panel.loading")));
    try {
      replace(body, show(await load()));
      isShown = true;
      return true;
    } catch (problem) {
      if (problem instanceof SignedOut) return false;
      // The wait that was asked for binds all who load this anew, not only the button here.
      notBefore = performance.now() + (problem.retryAfter ?? 0) * 1000;
      replace(body, trouble(understood(problem), fill));
      isShown = false;
      return false;
    } finally {
      isFilling = false;
      section.removeAttribute("aria-busy");
      if (hadFocus) comeBack(section, body);
    }
  }

  section.refill = fill;
  fill();
  return section;
}

function card(title, tools, kind, body) {
  const id = newId("panel");
  const head = h("header", { class: "panel-head" }, h("h2", { id }, title), tools);
  return h("section", { class: `card panel ${kind}`, "aria-labelledby": id }, head, body);
}

// An answer that a page cannot make anything of is the console's trouble, and is told to whoever looks into ours.
function understood(problem) {
  if (problem instanceof Refused) return problem;
  reportError(problem);
  return new Refused(t("problem.strange", { code: 200 }), { error: "strange_answer" });
}

// Where the keyboard stood on something that is gone, it goes on from this panel, not from the top of the page.
function comeBack(section, body) {
  if (!section.isConnected || document.activeElement !== document.body) return;
  const place = body.querySelector(".trouble button:enabled") ?? section.querySelector("h2") ?? body;
  // Headings and the like take the focus only when told so.
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

// What went wrong, in words, and a button that tries again once the wait that was asked for is over.
export function trouble(problem, retry) {
  const button = h("button", { type: "button", onclick: retry }, t("panel.retry"));
  const waiting = h("span", { class: "quiet" });
  if (problem.retryAfter) countDown(problem.retryAfter, button, waiting);
  return h(
    "div",
    { class: "trouble" },
    // The seconds that pass stand outside: nobody wants each of them read out.
    h(
      "div",
      { role: "alert" },
      h("p", {}, problem.message),
      problem.requestId && h("p", { class: "quiet" }, t("problem.quote", { id: problem.requestId })),
    ),
    h("p", {}, button, " ", waiting),
  );
}

// Keep a button from being used for some seconds, and say how many are left.
export function countDown(seconds, button, waiting) {
  // Not by the clock, which may be set meanwhile.
  const until = performance.now() + seconds * 1000;
  const tick = (isFirst) => {
    const left = Math.ceil((until - performance.now()) / 1000);
    button.disabled = left > 0;
    replace(waiting, left > 0 && t("problem.wait", { seconds: left }));
    if (left > 0 && (isFirst || button.isConnected)) setTimeout(tick, 1000, false);
  };
  tick(true);
}

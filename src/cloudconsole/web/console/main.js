// The console: the page that its address means, the sign-in before it, and what stands around both.

import { h, replace } from "./core/dom.js";
import { onLanguage, t } from "./core/i18n.js";
import { forget, go, keep, onArrival, whereWeAre } from "./core/router.js";
import { account, isSignedIn, onSession, signOut, turnThePage } from "./core/session.js";
import { onTheme } from "./core/theme.js";
import { PAGES } from "./pages/index.js";
import { page as missing } from "./pages/not_found.js";
import { fillFooter } from "./shell/footer.js";
import { closeMenu, fillHeader } from "./shell/header.js";
import { signInForm } from "./shell/sign_in.js";

const skip = h("a", { class: "skip button primary", href: "#content", onclick: skipToContent });
const header = h("header", { class: "shell-head" });
const troubles = h("div", { class: "shell-troubles", role: "alert" });
const main = h("main", { id: "content", tabindex: "-1" });
const footer = h("footer", { class: "shell-foot" });

// The sign-in as long as it is there, and why it is.
let form = null;
let hasEnded = false;
let isLeaving = false;
let lastName = account()?.username;

function showAll() {
  replace(skip, t("shell.skip"));
  fillHeader(header, leave);
  fillFooter(footer);
  if (isSignedIn()) showPage();
  else showSignIn();
}

function showPage() {
  form = null;
  const { path, rest, query } = whereWeAre();
  const page = PAGES.find((each) => each.path === path) ?? missing;
  document.title = t("title.of", { page: t(page.title) });
  replace(main, page.show({ rest, query, go, keep }));
}

function showSignIn() {
  document.title = t("title.of", { page: t("signin.title") });
  // Whose session ended by itself is most likely who comes back; what was typed already stays.
  const draft = form?.draft() ?? { username: hasEnded ? lastName : "" };
  form = signInForm({ hasEnded, draft });
  replace(main, form);
}

// Whoever listens or uses the keyboard goes on from the page's heading.
function focusHeading() {
  const heading = main.querySelector("h1") ?? main;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function skipToContent(event) {
  event.preventDefault();
  main.focus();
}

// The button is not disabled meanwhile: then it would lose the keyboard.
async function leave(event) {
  if (isLeaving) return;
  const button = event.currentTarget;
  button.setAttribute("aria-disabled", "true");
  isLeaving = true;
  replace(troubles);
  try {
    await signOut();
  } catch (problem) {
    replace(troubles, h("p", { class: "notice bad" }, problem.message));
  } finally {
    isLeaving = false;
    button.removeAttribute("aria-disabled");
  }
}

// Texts that were typed on the page and not sent yet, by the names of their fields.
function typed() {
  return [...main.querySelectorAll("input[name]:not([type=radio])")].map(({ name, value }) => [name, value]);
}

function typeAgain(texts) {
  for (const [name, value] of texts) {
    const input = main.querySelector(`input[name="${name}"]`);
    if (input) input.value = value;
  }
}

onArrival(() => {
  turnThePage();
  if (!isSignedIn()) return;
  closeMenu();
  replace(troubles);
  showAll();
  focusHeading();
});

onLanguage(() => {
  turnThePage();
  replace(troubles);
  const texts = typed();
  showAll();
  typeAgain(texts);
});

onTheme(() => fillHeader(header, leave));

onSession((news) => {
  hasEnded = news.hasEnded;
  // Whoever chose to go is followed by somebody who may have other things to look at.
  if (!news.isIn && !hasEnded) forget();
  closeMenu();
  replace(troubles);
  if (news.isIn) lastName = account()?.username;
  showAll();
  if (news.isIn) focusHeading();
  else form.begin();
});

replace(document.body, skip, header, troubles, main, footer);
showAll();
form?.begin();

// Entry point: renders the page for the current route, or the sign-in form, inside the shell.

import { h, replace } from "./core/dom.js";
import { onLanguageChange, t } from "./core/i18n.js";
import { currentRoute, navigate, onNavigate, pushQuery, replaceQuery, resetRoute } from "./core/router.js";
import { abortCalls, account, isSignedIn, onSessionChange, signOut } from "./core/session.js";
import { onThemeChange } from "./core/theme.js";
import { PAGES } from "./pages/index.js";
import { page as notFound } from "./pages/not_found.js";
import { renderFooter } from "./shell/footer.js";
import { clearBanner, renderBanner } from "./shell/banner.js";
import { closeMenu, renderHeader } from "./shell/header.js";
import { clearOutage, watchPanels } from "./shell/outage.js";
import { signInForm } from "./shell/sign_in.js";

const skipLink = h("a", { class: "skip-link button primary", href: "#content", onclick: skipToContent });
const header = h("header", { class: "shell-header" });
const banner = h("div", { class: "shell-banner" });
const alerts = h("div", { class: "shell-alerts", role: "alert" });
const outage = h("div", { class: "shell-outage" });
const main = h("main", { id: "content", tabindex: "-1" });
const footer = h("footer", { class: "shell-footer" });

// The sign-in form while it is shown, and whether it is shown because a session ended, or the reader signed out.
let form = null;
let hasEnded = false;
let hasSignedOut = false;
let isSigningOut = false;
// The page that is shown: its path and parameter, and what it does when Back or Forward change only its query.
let shown = null;
let lastUsername = account()?.username;

function render() {
  replace(skipLink, t("shell.skip"));
  renderHeader(header, handleSignOut);
  renderFooter(footer);
  clearOutage(outage, main);
  if (isSignedIn()) renderPage();
  else renderSignIn();
}

function renderPage() {
  form = null;
  const { path, parameter, query } = currentRoute();
  const page = PAGES.find((each) => each.path === path) ?? notFound;
  document.title = t("title.page", { page: t(page.title) });
  const listeners = [];
  const onReturn = (listener) => listeners.push(listener);
  shown = { path, parameter, listeners };
  replace(main, page.render({ parameter, query, navigate, pushQuery, replaceQuery, onReturn }));
  // After the page, whose request for announcements it shares.
  renderBanner(banner);
}

// Whether the page that is shown has applied the query of the present route itself.
function applyQuery() {
  const { path, parameter, query } = currentRoute();
  if (path !== shown?.path || parameter !== shown.parameter || shown.listeners.length === 0) return false;
  for (const listener of shown.listeners) listener(query);
  return true;
}

function renderSignIn() {
  shown = null;
  clearBanner();
  document.title = t("title.page", { page: t("signin.title") });
  // Keep what was typed. After an ended session, suggest the same username.
  const draft = form?.draft() ?? { username: hasEnded ? lastUsername : "" };
  form = signInForm({ hasEnded, hasSignedOut, draft });
  replace(main, form);
}

// Screen reader and keyboard users continue at the heading of the new page.
function focusHeading() {
  const heading = main.querySelector("h1") ?? main;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function skipToContent(event) {
  event.preventDefault();
  main.focus();
}

// Uses aria-disabled: a disabled button would lose the focus.
async function handleSignOut(event) {
  if (isSigningOut) return;
  const button = event.currentTarget;
  button.setAttribute("aria-disabled", "true");
  isSigningOut = true;
  replace(alerts);
  try {
    await signOut();
  } catch (error) {
    replace(alerts, h("p", { class: "notice danger" }, error.message));
  } finally {
    isSigningOut = false;
    button.removeAttribute("aria-disabled");
  }
}

// Text typed into the page's fields, by field name.
function typedValues() {
  return [...main.querySelectorAll("input[name]:not([type=radio])")].map(({ name, value }) => [name, value]);
}

function restoreTypedValues(values) {
  for (const [name, value] of values) {
    const input = main.querySelector(`input[name="${name}"]`);
    if (input) input.value = value;
  }
}

onNavigate(({ isVisited }) => {
  if (isVisited && applyQuery()) return;
  abortCalls();
  if (!isSignedIn()) return;
  closeMenu();
  replace(alerts);
  render();
  focusHeading();
});

onLanguageChange(() => {
  abortCalls();
  replace(alerts);
  const values = typedValues();
  render();
  restoreTypedValues(values);
});

onThemeChange(() => renderHeader(header, handleSignOut));

onSessionChange((change) => {
  hasEnded = change.hasEnded;
  hasSignedOut = !change.isSignedIn && !hasEnded;
  // After a sign-out the next user starts at the overview.
  if (!change.isSignedIn && !hasEnded) resetRoute();
  closeMenu();
  replace(alerts);
  if (change.isSignedIn) lastUsername = account()?.username;
  render();
  if (change.isSignedIn) focusHeading();
  else form.focusFirstField();
});

watchPanels(outage, main);
replace(document.body, skipLink, header, banner, alerts, outage, main, footer);
render();
form?.focusFirstField();

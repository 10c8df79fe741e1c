// The page header: brand, navigation, account, language and theme.

import { h, newId, replace } from "../core/dom.js";
import { LANGUAGES, language, setLanguage, t } from "../core/i18n.js";
import { currentRoute } from "../core/router.js";
import { account, isSignedIn } from "../core/session.js";
import { THEMES, setTheme, theme } from "../core/theme.js";
import { PAGES } from "../pages/index.js";
import { icon } from "./icons.js";

const ICON_URL = document.querySelector('link[rel="icon"]').href;
const LOGO = h("img", { src: ICON_URL, alt: "", width: 28, height: 28 });

let isMenuOpen = false;

// Render the header. The focus stays on the element with the same data-focus-key.
export function renderHeader(header, onSignOut) {
  const focusKey = header.contains(document.activeElement) && document.activeElement.dataset.focusKey;
  replace(
    header,
    h("div", { class: "shell-bar" }, brand(), isSignedIn() ? [navigation(), menu(tools(onSignOut))] : tools()),
  );
  if (focusKey) header.querySelector(`[data-focus-key="${focusKey}"]`)?.focus();
}

// Collapse the menu of narrow windows at the next rendering.
export function closeMenu() {
  isMenuOpen = false;
}

function brand() {
  return h("a", { class: "brand", href: "#/", "data-focus-key": "brand" }, LOGO, t("title"));
}

function navigation() {
  const { path } = currentRoute();
  const links = PAGES.map((page) =>
    h(
      "a",
      { href: `#/${page.path}`, "aria-current": page.path === path && "page", "data-focus-key": `page-${page.path}` },
      t(page.title),
    ),
  );
  return h("nav", { "aria-label": t("nav.label") }, links);
}

// In narrow windows the content is collapsed behind a button; in wide ones CSS shows it and hides the button.
function menu(content) {
  const id = newId("menu");
  const panel = h("div", { class: "menu", id }, content);
  const attributes = { type: "button", class: "menu-button", "aria-controls": id, "data-focus-key": "menu" };
  const button = h("button", { ...attributes, onclick: () => setOpen(!isMenuOpen) }, icon("menu"), t("shell.menu"));
  function setOpen(isOpen) {
    isMenuOpen = isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    panel.classList.toggle("is-open", isOpen);
  }
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !isMenuOpen) return;
    setOpen(false);
    button.focus();
  });
  setOpen(isMenuOpen);
  return [button, panel];
}

function tools(onSignOut) {
  return h("div", { class: "tools" }, onSignOut && accountInfo(onSignOut), languages(), themes());
}

function accountInfo(onSignOut) {
  const { username, region } = account() ?? { username: "", region: "" };
  return h(
    "div",
    { class: "account-info" },
    h(
      "p",
      { class: "account" },
      h("span", { class: "visually-hidden" }, t("shell.account"), " "),
      h("strong", { title: username }, username),
      h("span", { class: "muted", title: region }, region.replace(/^https?:\/\//, "")),
    ),
    h("button", { type: "button", "data-focus-key": "sign-out", onclick: onSignOut }, t("signout")),
  );
}

function languages() {
  const buttons = Object.entries(LANGUAGES).map(([code, name]) => {
    const attributes = { lang: code, "data-focus-key": `language-${code}` };
    return toggleButton(code === language(), () => setLanguage(code), attributes, name);
  });
  return h("div", { class: "toggle-group", role: "group", "aria-label": t("shell.language") }, buttons);
}

function themes() {
  const buttons = THEMES.map((name) => {
    const label = t(`theme.${name}`);
    const attributes = { "aria-label": label, title: label, "data-focus-key": `theme-${name}` };
    return toggleButton(name === theme(), () => setTheme(name), attributes, icon(name));
  });
  return h("div", { class: "toggle-group", role: "group", "aria-label": t("shell.theme") }, buttons);
}

function toggleButton(isPressed, onclick, attributes, content) {
  return h("button", { type: "button", "aria-pressed": String(isPressed), onclick, ...attributes }, content);
}

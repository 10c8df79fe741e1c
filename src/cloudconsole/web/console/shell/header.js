// The head of every page: the product, the pages, who is signed in, language and theme.

import { h, newId, replace } from "../core/dom.js";
import { LANGUAGES, language, speak, t } from "../core/i18n.js";
import { whereWeAre } from "../core/router.js";
import { account, isSignedIn } from "../core/session.js";
import { THEMES, dress, theme } from "../core/theme.js";
import { PAGES } from "../pages/index.js";
import { icon } from "./icons.js";

const MARK = h("img", { src: new URL("../../icon.svg", import.meta.url), alt: "", width: 28, height: 28 });

let isOpen = false;

// `leave` is what signing out does. What had the keyboard before has it afterwards.
export function fillHeader(header, leave) {
  const focused = header.contains(document.activeElement) && document.activeElement.dataset.key;
  replace(
    header,
    h("div", { class: "shell-bar" }, brand(), isSignedIn() ? [pages(), folded(tools(leave))] : tools()),
  );
  if (focused) header.querySelector(`[data-key="${focused}"]`)?.focus();
}

// On a phone, what is behind the menu's button goes back there.
export function closeMenu() {
  isOpen = false;
}

function brand() {
  return h("a", { class: "brand", href: "#/", "data-key": "brand" }, MARK, t("title"));
}

function pages() {
  const { path } = whereWeAre();
  const links = PAGES.map((page) =>
    h(
      "a",
      { href: `#/${page.path}`, "aria-current": page.path === path && "page", "data-key": `page-${page.path}` },
      t(page.title),
    ),
  );
  return h("nav", { "aria-label": t("nav.label") }, links);
}

// Behind a button where there is no room; with room, style shows all and hides the button.
function folded(content) {
  const id = newId("menu");
  const panel = h("div", { class: "menu", id }, content);
  const button = h(
    "button",
    { type: "button", class: "menu-button", "aria-controls": id, "data-key": "menu", onclick: () => unfold(!isOpen) },
    icon("menu"),
    t("shell.menu"),
  );
  function unfold(isUnfolded) {
    isOpen = isUnfolded;
    button.setAttribute("aria-expanded", String(isOpen));
    panel.classList.toggle("is-open", isOpen);
  }
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !isOpen) return;
    unfold(false);
    button.focus();
  });
  unfold(isOpen);
  return [button, panel];
}

function tools(leave) {
  return h("div", { class: "tools" }, leave && who(leave), languages(), themes());
}

function who(leave) {
  const { username, region } = account() ?? { username: "", region: "" };
  return h(
    "div",
    { class: "who" },
    h(
      "p",
      { class: "account" },
      h("span", { class: "visually-hidden" }, t("shell.account"), " "),
      h("strong", { title: username }, username),
      h("span", { class: "quiet", title: region }, region.replace(/^https?:\/\//, "")),
    ),
    h("button", { type: "button", "data-key": "leave", onclick: leave }, t("signout")),
  );
}

function languages() {
  const choices = Object.entries(LANGUAGES).map(([code, name]) =>
    choice(code === language(), () => speak(code), { lang: code, "data-key": `language-${code}` }, name),
  );
  return h("div", { class: "choices", role: "group", "aria-label": t("shell.language") }, choices);
}

function themes() {
  const choices = THEMES.map((name) => {
    const label = t(`theme.${name}`);
    const told = { "aria-label": label, title: label, "data-key": `theme-${name}` };
    return choice(name === theme(), () => dress(name), told, icon(name));
  });
  return h("div", { class: "choices", role: "group", "aria-label": t("shell.theme") }, choices);
}

function choice(isChosen, onclick, attributes, content) {
  return h("button", { type: "button", "aria-pressed": String(isChosen), onclick, ...attributes }, content);
}

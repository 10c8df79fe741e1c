// The API reference: the address of this console in its commands, copy buttons, the choice of the theme, and contents that
// can be filtered and show the present section. Without this script everything is readable.

import { h } from "./console/core/dom.js";
import { onThemeChange, setTheme, theme } from "./console/core/theme.js";
import { icon } from "./console/shell/icons.js";

const CONFIRMATION_MS = 2500;
const THEMES = { system: "System", light: "Light", dark: "Dark" };

for (const each of document.querySelectorAll(".base")) each.textContent = location.origin;

for (const block of document.querySelectorAll(".code")) addCopyButton(block);
addThemes(document.querySelector("body > header"));

const contents = document.querySelector("nav details");
const isNarrow = matchMedia("(max-width: 64rem)");
const fold = () => (contents.open = !isNarrow.matches);
isNarrow.addEventListener("change", fold);
fold();
addFilter(contents);
markCurrent([...document.querySelectorAll("nav a")]);

function addThemes(header) {
  const button = ([name, label]) =>
    h("button", { "aria-label": label, title: label, type: "button", value: name, onclick: () => setTheme(name) }, icon(name));
  const buttons = Object.entries(THEMES).map(button);

  function mark() {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each.value === theme()));
  }

  onThemeChange(mark);
  mark();
  header.append(h("div", { class: "toggle-group", role: "group", "aria-label": "Theme" }, buttons));
}

function addCopyButton(block) {
  const code = block.querySelector("pre");
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy: ${code.ariaLabel}` }, "Copy");
  const status = h("span", { class: "visually-hidden", role: "status" });
  button.addEventListener("click", async () => {
    const isCopied = await copy(code.innerText);
    // Clipboards are available only in secure contexts, and users may deny them.
    if (!isCopied) getSelection().selectAllChildren(code);
    button.textContent = status.textContent = isCopied ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(() => ([button.textContent, status.textContent] = ["Copy", ""]), CONFIRMATION_MS);
  });
  block.append(button, status);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Entries are found by name and purpose. Enter opens the first one.
function addFilter(nav) {
  const label = h("label", { for: "filter" }, "Filter");
  const input = h("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: "false" });
  const entries = [...nav.querySelectorAll("li")];
  const none = h("p", { class: "no-matches", role: "status" });
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase();
    for (const each of entries) each.hidden = !`${each.textContent} ${each.dataset.text}`.toLowerCase().includes(text);
    none.textContent = entries.every((each) => each.hidden) ? "No matches" : "";
    for (const list of nav.querySelectorAll("ul")) {
      list.previousElementSibling.hidden = list.hidden = list.querySelector("li:not([hidden])") === null;
    }
  });
  input.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") entries.find((each) => !each.hidden)?.querySelector("a").click();
  });
  nav.querySelector("summary").after(h("div", { class: "filter" }, label, input, none));
}

function markCurrent(links) {
  const targets = links.map((link) => document.getElementById(link.hash.slice(1)));
  const mark = () => {
    const tops = targets.map((target) => target.getBoundingClientRect().top);
    const current = Math.max(...tops.filter((top) => top < innerHeight / 3));
    for (const [index, link] of links.entries()) {
      if (tops[index] === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

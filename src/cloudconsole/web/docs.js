// The API reference: the address of this console in its commands, copy buttons, the choice of the theme, and contents that
// can be filtered and show the present section. Without this script everything is readable.

const CONFIRMATION_MS = 2500;
// As on the other pages; theme.js applies it before the first paint.
const THEME_KEY = "cloudconsole.theme";
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

function element(tag, attributes, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
}

function addThemes(header) {
  const root = document.documentElement;
  const buttons = Object.entries(THEMES).map(([name, label]) => element("button", { type: "button", value: name }, label));
  const group = element("div", { class: "toggle-group", role: "group", "aria-label": "Theme" }, ...buttons);

  function mark() {
    const chosen = root.dataset.theme ?? "system";
    for (const each of buttons) each.setAttribute("aria-pressed", String(each.value === chosen));
  }

  group.addEventListener("click", ({ target }) => {
    if (!buttons.includes(target)) return;
    const isSystem = target.value === "system";
    if (isSystem) delete root.dataset.theme;
    else root.dataset.theme = target.value;
    try {
      if (isSystem) localStorage.removeItem(THEME_KEY);
      else localStorage.setItem(THEME_KEY, JSON.stringify(target.value));
    } catch {
      // Storage is denied: the choice is for this page.
    }
    mark();
  });
  mark();
  header.append(group);
}

function addCopyButton(block) {
  const code = block.querySelector("pre");
  const button = element("button", { type: "button", class: "copy", "aria-label": `Copy: ${code.ariaLabel}` }, "Copy");
  const status = element("span", { class: "visually-hidden", role: "status" });
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
  const label = element("label", { for: "filter" }, "Filter");
  const input = element("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: "false" });
  const entries = [...nav.querySelectorAll("li")];
  const none = element("p", { class: "no-matches", role: "status" });
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
  nav.querySelector("summary").after(element("div", { class: "filter" }, label, input, none));
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

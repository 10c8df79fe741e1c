// Keys for the rows of a list: j and k or the arrows move the focus from row to row, / moves it to the search. Enter
// follows the focused link, as always. The shortcuts can be turned off for those whose tools send such keys.

import * as storage from "../console/core/storage.js";

const STORED_NAME = "list_keys";

const help = document.querySelector(".list-keys");
const links = [...document.querySelectorAll(".listing tbody th a")];
const search = document.querySelector("[name=search]");
let isOn = storage.read(STORED_NAME) !== false;

if (help) {
  const toggle = help.querySelector("button");
  const show = () => toggle.setAttribute("aria-pressed", String(isOn));
  toggle.addEventListener("click", () => {
    isOn = !isOn;
    storage.write(STORED_NAME, isOn ? null : false);
    show();
  });
  show();
  help.hidden = false;
}

document.addEventListener("keydown", (event) => {
  if (!isOn || event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const row = links.indexOf(document.activeElement?.closest(".listing tbody tr")?.querySelector("th a"));
  // Elsewhere the arrows scroll.
  const step = { j: 1, k: -1, ...(row >= 0 && { ArrowDown: 1, ArrowUp: -1 }) }[event.key];
  const target = event.key === "/" ? search : step && links[row < 0 ? 0 : row + step];
  if (event.key === "/") search?.closest("details")?.setAttribute("open", "");
  if (!target) return;
  event.preventDefault();
  target.focus();
});

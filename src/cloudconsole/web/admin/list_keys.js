// Keys for the rows of a list: j and k or the arrows move the focus from row to row, / moves it to the search, ? shows
// the keys. Enter follows the focused link, as always; a row without a link is focused itself. The dialog turns them off for those whose tools send such keys.

import * as storage from "../console/core/storage.js";

const STORED_NAME = "list_keys";

const dialog = document.querySelector("#keys");
const toggle = dialog.querySelector("input");
const opener = document.querySelector(".keys-opener");
const rows = [...document.querySelectorAll(".listing tbody tr")];
const targets = rows.map((row) => row.querySelector("a") ?? Object.assign(row, { tabIndex: -1 }));
const search = document.querySelector("[name=search], [role=search] input[type=text]");

toggle.checked = storage.read(STORED_NAME) !== false;
toggle.addEventListener("change", () => storage.write(STORED_NAME, toggle.checked ? null : false));
opener.addEventListener("click", () => dialog.showModal());
opener.hidden = false;
dialog.querySelector("button").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  // The backdrop is outside of the dialog's content, which fills it.
  if (event.target === dialog) dialog.close();
});

document.addEventListener("keydown", (event) => {
  if (!toggle.checked || dialog.open) return;
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, select, textarea")) return;
  if (event.key === "?") {
    event.preventDefault();
    dialog.showModal();
    return;
  }
  const row = rows.indexOf(document.activeElement?.closest(".listing tbody tr"));
  // Elsewhere the arrows scroll.
  const step = { j: 1, k: -1, ...(row >= 0 && { ArrowDown: 1, ArrowUp: -1 }) }[event.key];
  const target = event.key === "/" ? search : step && targets[row < 0 ? 0 : row + step];
  if (event.key === "/") search?.closest("details")?.setAttribute("open", "");
  if (!target) return;
  event.preventDefault();
  target.focus();
});

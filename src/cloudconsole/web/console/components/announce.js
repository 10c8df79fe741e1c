// Announce page changes to screen readers.

import { h, replace } from "../core/dom.js";

let region = null;

// Announce a short text politely. The same text twice is announced twice.
export function announce(text) {
  if (!region?.isConnected) {
    region = h("div", { class: "visually-hidden", role: "status" });
    document.body.append(region);
  }
  replace(region);
  // Screen readers must notice the empty live region before the text is set.
  setTimeout(() => replace(region, text), 50);
}

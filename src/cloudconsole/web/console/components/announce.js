// What is told to those who cannot see that something on the page has changed.

import { h, replace } from "../core/dom.js";

let place = null;

// A short text, said once the reader has finished what it is at; the same one twice is said twice.
export function announce(text) {
  if (!place?.isConnected) {
    place = h("div", { class: "visually-hidden", role: "status" });
    document.body.append(place);
  }
  replace(place);
  // A region that has just come or gone empty must be seen to be so first.
  setTimeout(() => replace(place, text), 50);
}

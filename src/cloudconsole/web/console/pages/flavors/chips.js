// Values to choose one of, side by side: radio buttons, so that arrow keys go from one to the next.

import { h } from "../../core/dom.js";

export function chips({ legend, name, values, written, chosen, choose }) {
  return h(
    "fieldset",
    { class: "chips" },
    h("legend", {}, legend),
    h(
      "div",
      { class: "chip-list" },
      values.map((value) => {
        // An id of its own, so that the keyboard finds its place again when the values are drawn anew.
        const id = `${name}-${value}`;
        const input = { type: "radio", id, name, value, checked: value === chosen, onchange: () => choose(value) };
        return h("label", { for: id }, h("input", input), h("span", {}, written(value)));
      }),
    ),
  );
}

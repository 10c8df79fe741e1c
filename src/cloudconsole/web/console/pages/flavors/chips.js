// Choice chips: radio buttons side by side, navigable with the arrow keys.

import { h } from "../../core/dom.js";

export function chips({ legend, name, values, format, selected, onSelect }) {
  return h(
    "fieldset",
    { class: "chips" },
    h("legend", {}, legend),
    h(
      "div",
      { class: "chip-list" },
      values.map((value) => {
        // A stable id, so that the focus can be restored after rendering again.
        const id = `${name}-${value ?? "any"}`;
        const input = { type: "radio", id, name, value: value ?? "", checked: value === selected, onchange: () => onSelect(value) };
        return h("label", { for: id }, h("input", input), h("span", {}, format(value)));
      }),
    ),
  );
}

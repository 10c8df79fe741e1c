// Offer only the units by which the chosen kind is priced and the type only where it applies, and list only its prices.
// The server validates the choice again.

import { suggest } from "./suggestions.js";

const kind = document.querySelector("select[name=kind]");
const unit = document.querySelector("select[data-units]");
const listed = [...document.querySelectorAll(".form-panel [data-kind]")];
if (kind) {
  kind.addEventListener("change", () => {
    for (const price of listed) price.hidden = Boolean(kind.value) && price.dataset.kind !== kind.value;
  });
}
if (kind && unit) {
  const units = JSON.parse(unit.dataset.units);
  const options = [...unit.options];
  const offer = () => {
    const fitting = units[kind.value];
    const chosen = unit.value;
    unit.replaceChildren(...options.filter(({ value }) => value === "" || !fitting || fitting.includes(value)));
    unit.value = fitting?.length === 1 ? fitting[0] : [...unit.options].some(({ value }) => value === chosen) ? chosen : "";
  };
  kind.addEventListener("change", offer);
  // A rejected form keeps what was sent until the kind changes.
  if (kind.value && !unit.value) offer();
}

const type = document.querySelector("input[data-typed-units]");
if (kind && unit && type) {
  const typedUnits = JSON.parse(type.dataset.typedUnits);
  const names = type.getAttribute("list");
  const show = () => {
    // One with a value stays visible: it may be the reason of a rejection.
    type.closest(".field").hidden = typedUnits[kind.value] !== unit.value && !type.value;
    // Types of instances are flavors; the console does not know the types of volumes.
    if (kind.value === "instance") type.setAttribute("list", names);
    else type.removeAttribute("list");
  };
  kind.addEventListener("change", show);
  unit.addEventListener("change", show);
  suggest(type, "flavor");
  show();
}

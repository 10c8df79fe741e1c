// Offer only the units by which the chosen kind is priced, and list only its prices. The server validates the choice again.

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

// One item of an estimate: what it is, how many, its price, and a button to remove it.

import { roundedAmount } from "../../../components/amount.js";
import { h, newId, replace } from "../../../core/dom.js";
import { formatNumber, t } from "../../../core/i18n.js";
import { flavorSpec } from "../spec.js";
import { LIMITS, wholeNumber } from "./items.js";

// `onChange` is called after a change of the item, `onRemove` to remove it. The row's `showPrice` method shows its
// part of an estimate.
export function itemRow(item, { units, volumeTypes, currency, onChange, onRemove }) {
  const name = itemName(item);
  const price = h("span", { class: "item-price" });
  const error = h("p", { class: "error", id: newId("error") });

  function numberInput(field, label) {
    const [minimum, maximum] = [1, LIMITS[field]];
    const range = { type: "number", inputmode: "numeric", min: minimum, max: maximum, step: 1, value: item[field] };
    const labels = { "aria-label": label, "aria-describedby": error.id };
    const input = h("input", { ...range, ...labels, class: `item-${field}` });

    function setError(message) {
      replace(error, message);
      if (message) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }

    input.addEventListener("input", () => {
      const value = wholeNumber(input.value, maximum);
      const text = () => t(`estimate.invalid_${field === "size" ? "size" : "number"}`, { maximum: formatNumber(maximum) });
      setError(value === null ? text() : null);
      if (value === null) return;
      item[field] = value;
      onChange();
    });
    // The last valid number is the one that counts.
    input.addEventListener("change", () => {
      input.value = item[field];
      setError(null);
    });
    input.set = (value) => {
      if (value < minimum || value > maximum) return;
      input.value = item[field] = value;
      setError(null);
      onChange();
    };
    return input;
  }

  const count = numberInput("count", t("estimate.count_of", { name }));
  const step = (change, sign, label) =>
    h("button", { type: "button", "aria-label": label, onclick: () => count.set(item.count + change) }, sign);
  const [fewer, more] = [t("estimate.fewer", { name }), t("estimate.more", { name })];
  const stepper = h("div", { class: "stepper" }, step(-1, "−", fewer), count, step(1, "+", more));
  const size = item.size && [
    h("span", { "aria-hidden": "true" }, "×"),
    h("span", { class: "item-size-label" }, numberInput("size", t("estimate.size_of", { name })), units.volume),
  ];
  const row = h(
    "li",
    { "data-kind": item.kind },
    h("div", { class: "item-head" }, h("strong", { class: "item-name" }, h("bdi", {}, name)), price,
      removeButton(name, onRemove)),
    item.flavor && h("p", { class: "item-spec muted" }, flavorSpec(item.flavor, units)),
    h(
      "div",
      { class: "item-controls" },
      stepper,
      size,
      item.kind === "volume" && typeSelect(item, volumeTypes, name, onChange),
    ),
    error,
  );

  row.showPrice = (estimated) => {
    price.classList.toggle("no-price", estimated?.month === null);
    if (!estimated) replace(price, "…");
    else if (estimated.month === null) replace(price, t("estimate.no_price"));
    else if (item.kind === "floating_ip") replace(price, t("estimate.no_charge"));
    else replace(price, roundedAmount(estimated.month, currency), " ", h("span", { class: "currency" }, currency));
  };
  row.update = () => {
    count.value = item.count;
  };
  row.showPrice(null);
  return row;
}

// An item of the URL that cannot be estimated, such as an instance of a flavor that is no longer offered.
export function invalidRow(item, onRemove) {
  const text = item.flavorId
    ? t("estimate.unknown_flavor", { id: item.flavorId })
    : t("estimate.invalid_item", { item: item.invalid });
  return h(
    "li",
    { class: "is-invalid" },
    h("div", { class: "item-head" }, h("p", { class: "error item-name" }, "✖ ", text), removeButton(itemName(item), onRemove)),
  );
}

function removeButton(name, onclick) {
  const label = t("estimate.remove_item", { name });
  return h("button", { type: "button", class: "plain item-remove", "aria-label": label, title: label, onclick }, "✕");
}

// A cloud without types of its own needs no choice.
function typeSelect(item, volumeTypes, name, onChange) {
  const types = [...new Set([...volumeTypes, item.type].filter(Boolean))];
  if (types.length === 0) return null;
  const option = (value, label) => h("option", { value, selected: value === item.type }, label);
  const select = h("select", { class: "item-type", "aria-label": t("estimate.type_of", { name }) },
    option("", t("estimate.no_type")), types.map((type) => option(type, type)));
  select.addEventListener("change", () => {
    item.type = select.value;
    onChange();
  });
  return select;
}

export function itemName({ kind, flavor, invalid, flavorId }) {
  if (invalid) return flavorId || invalid;
  return flavor ? flavor.name : t(`estimate.kind.${kind}`);
}

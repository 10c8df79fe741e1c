// Why a resource costs what it costs per hour: quantities times prices.

import { exactAmount } from "../../components/amount.js";
import { h } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { compare, multiply, sum } from "../../core/money.js";

// Units by which a kind is priced, and the quantity of each that a resource has.
const UNITS = {
  instance: ["vcpu", "ram_gb", "each"],
  image: ["gb"],
  loadbalance: ["each"],
  volume: ["gb"],
};
const QUANTITIES = {
  each: () => 1,
  vcpu: ({ vcpus }) => vcpus,
  ram_gb: ({ memory_gb: memory }) => memory,
  gb: ({ size_gb: size }) => size,
};

// The terms that make up the price per hour of a row, in words. The prices are those that the console has now, so that
// they explain nothing if they do not add up exactly, as for a month with other prices.
export function hourlyRate(row, prices) {
  const terms = termsOf(row, prices);
  if (terms === null) return null;
  const parts = terms.map((term, index) => [index > 0 && " + ", h("span", { class: "nowrap" }, termText(term))]);
  return h("span", { class: "rate" }, exactAmount(row.unit_price), " = ", parts);
}

function termsOf(row, prices) {
  const present = prices.filter(({ res_type: kind, in_force: isInForce }) => kind === row.res_type && isInForce);
  const types = new Set(present.map(({ type }) => type));
  const found = [null, ...types]
    .map((type) => (UNITS[row.res_type] ?? []).map((unit) => termOf(row, unit, type, present)).filter(Boolean))
    .find((terms) => terms.length > 0 && compare(sum(terms.map(cost)), row.unit_price) === 0);
  // The price of one load balancer needs no explanation.
  return found?.some(({ unit }) => unit !== "each") ? found : null;
}

// A node's own price replaces the one for all nodes.
function termOf({ region, res_meta: meta }, unit, type, prices) {
  const ofUnit = prices.filter((price) => price.unit === unit && price.type === type);
  const price = ofUnit.find((each) => each.region === region) ?? ofUnit.find((each) => each.region === null);
  const quantity = QUANTITIES[unit](meta);
  return price && quantity > 0 ? { unit, quantity, price: price.price } : null;
}

function cost({ quantity, price }) {
  return multiply(price, quantity);
}

function termText({ unit, quantity, price }) {
  const count = formatNumber(quantity);
  const amount = exactAmount(price);
  if (unit === "each") return [t("costs.rate.base"), " ", amount];
  const text = unit === "vcpu" && quantity === 1 ? t("flavors.core") : t(`costs.rate.${unit}`, { count });
  return [text, " × ", amount];
}

// Prices of flavors, the nodes to choose from, and the volume types that have prices of their own.

import { language } from "../../core/i18n.js";
import { call } from "../../core/session.js";

// Far below the server's default limit of 64 KiB for a request, even with long IDs.
const BATCH = 150;

// Costs of one instance of each flavor by flavor ID, as items of GetEstimate.
export async function flavorPrices(flavors, node) {
  const prices = new Map();
  for (let first = 0; first < flavors.length; first += BATCH) {
    const batch = flavors.slice(first, first + BATCH);
    const items = batch.map(({ id }) => ({ res_type: "instance", flavor: id, ...(node && { region: node }) }));
    const estimate = await call("GetEstimate", { items });
    batch.forEach(({ id }, index) => prices.set(id, estimate.items[index]));
  }
  return prices;
}

// {nodes, volumeTypes} of GetPrices, and of this month's rows of GetConsumptionsByQuery. Nodes are {name, hasPrices}.
export function pricedNames(prices, rows) {
  const distinct = (values) => [...new Set(values.filter(Boolean))];
  const priced = new Set(prices.filter(({ in_force }) => in_force).map(({ region }) => region));
  const { compare } = new Intl.Collator(language(), { numeric: true });
  const names = distinct([...prices, ...rows].map(({ region }) => region)).sort(compare);
  const volumes = prices.filter(({ res_type }) => res_type === "volume");
  return {
    nodes: names.map((name) => ({ name, hasPrices: priced.has(name) })),
    volumeTypes: distinct(volumes.map(({ type }) => type)),
  };
}

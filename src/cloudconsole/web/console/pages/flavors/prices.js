// Prices of flavors, and the nodes and volume types that have prices of their own.

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

// {nodes, volumeTypes} of GetPrices.
export function pricedNames(prices) {
  const distinct = (values) => [...new Set(values.filter(Boolean))];
  const volumes = prices.filter(({ res_type }) => res_type === "volume");
  return { nodes: distinct(prices.map(({ region }) => region)), volumeTypes: distinct(volumes.map(({ type }) => type)) };
}

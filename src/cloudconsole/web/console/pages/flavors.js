// The flavors page: all flavors with filters, quotas and prices, and an estimate of several resources.

import { urlState } from "../components/url_state.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call, serviceInfo } from "../core/session.js";
import { estimateCard } from "./flavors/estimate/card.js";
import { restoreEstimate } from "./flavors/estimate/saved.js";
import { flavorList } from "./flavors/list.js";
import { pricedNames } from "./flavors/prices.js";

export const page = { path: "flavors", title: "nav.flavors", render };

function render(route) {
  const state = urlState(route);
  const content = panel({
    name: "flavors",
    load: async () => {
      const flavors = call("GetFlavors");
      const info = await serviceInfo();
      const has = (action) => info.extensions?.includes(action);
      // They only add nodes to choose from, so the page does without them.
      const prices = has("GetPrices") ? call("GetPrices").catch(() => []) : [];
      const hasRows = has("GetEstimate") && has("GetConsumptionsByQuery");
      const rows = hasRows ? call("GetConsumptionsByQuery", { limit: 1000 }).catch(() => []) : [];
      return Promise.all([flavors, info, prices, rows]);
    },
    render: ([data, info, prices, rows]) => flavorsPage(data, info, pricedNames(prices, rows), state),
  });
  return [h("h1", {}, t("nav.flavors")), content];
}

function flavorsPage(data, { units, currency, extensions, monthDays }, { nodes, volumeTypes }, state) {
  if (data.flavors.length === 0) return h("p", { class: "card empty" }, t("flavors.empty"));
  if (!extensions?.includes("GetEstimate")) return flavorList(data, units, state, null);
  restoreEstimate(state);
  const node = nodes.find(({ name }) => name === state.get("node"))?.name ?? "";
  const onNode = (name) => list.setNode(name);
  const estimate = estimateCard({
    flavors: data.flavors, units, currency, monthDays, volumeTypes, state, nodes, node, onNode,
  });
  const list = flavorList(data, units, state, { currency, monthDays, node, onAdd: estimate.addFlavor });
  return h("div", { class: "with-estimate" }, list, estimate.bar, estimate.card);
}

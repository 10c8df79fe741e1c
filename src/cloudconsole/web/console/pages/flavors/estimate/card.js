// What several resources would cost together, and whether the quotas allow them.

import { roundedText } from "../../../components/amount.js";
import { announce } from "../../../components/announce.js";
import { commandsButton } from "../../../components/commands.js";
import { h, newId, replace } from "../../../core/dom.js";
import { formatNumber, t } from "../../../core/i18n.js";
import { errorBox } from "../../../core/panel.js";
import { CallCancelled, call } from "../../../core/session.js";
import { itemName, itemRow } from "./item_row.js";
import { LIMITS, MAX_ITEMS, formatItems, parseItems, requestItem } from "./items.js";
import { estimateResult, summary } from "./result.js";

const DEBOUNCE_MS = 250;
const NEW_ITEMS = {
  volume: { count: 1, size: 100, type: "" },
  image: { count: 1, size: 20 },
  loadbalance: { count: 1 },
  floating_ip: { count: 1 },
};

// Returns {card, bar, addFlavor, setNode}; the bar leads to the card where that is below the table.
export function estimateCard({ flavors, units, currency, volumeTypes, state, node: firstNode }) {
  const id = newId("estimate");
  const items = parseItems(state.get("items"), flavors);
  const rows = new Map();
  const opened = new Set();
  const heading = h("h2", { id, tabindex: "-1" }, t("estimate.title"));
  const list = h("ul", { class: "estimate-items" });
  const hint = h("p", { class: "empty" }, t("estimate.empty"));
  const notice = h("p", { class: "error", role: "alert" });
  const result = h("div", { class: "estimate-result" });
  const clear = h("button", { type: "button", class: "plain", onclick: removeAll }, t("estimate.clear"));
  const code = commandsButton(t("estimate.title"), () => estimateRequest());
  const barText = h("span", { class: "estimate-bar-text" });
  const showButton = h("button", { type: "button", onclick: showCard }, t("estimate.show"));
  const bar = h("div", { class: "estimate-bar" }, barText, showButton);
  let node = firstNode;
  let timer = null;
  let requests = 0;

  function render() {
    replace(list, items.map((item) => rowOf(item)));
    list.hidden = clear.hidden = code.hidden = bar.hidden = items.length === 0;
    hint.hidden = items.length > 0;
  }

  function rowOf(item) {
    const callbacks = { onChange: () => update(), onRemove: () => remove(item) };
    if (!rows.has(item)) rows.set(item, itemRow(item, { units, volumeTypes, currency, ...callbacks }));
    return rows.get(item);
  }

  function estimateRequest() {
    return { action: "GetEstimate", fields: { items: items.map((item) => requestItem(item, node)) } };
  }

  // The URL changes at once, the estimate after a pause in typing.
  function update() {
    replace(notice);
    state.set({ items: formatItems(items) });
    clearTimeout(timer);
    requests += 1;
    if (items.length === 0) {
      result.removeAttribute("aria-busy");
      replace(result);
      return;
    }
    result.setAttribute("aria-busy", "true");
    timer = setTimeout(() => card.isConnected && load({ isAnnounced: true }), DEBOUNCE_MS);
  }

  // Only the last request counts.
  async function load({ isAnnounced = false } = {}) {
    requests += 1;
    const request = requests;
    const requested = [...items];
    result.setAttribute("aria-busy", "true");
    try {
      const estimate = await call("GetEstimate", estimateRequest().fields);
      if (request === requests) show(estimate, requested, isAnnounced);
    } catch (error) {
      if (error instanceof CallCancelled || request !== requests) return;
      for (const item of items) rowOf(item).showPrice(null);
      replace(result, errorBox(error, () => load()));
      replace(barText, t("estimate.title"));
    } finally {
      if (request === requests) result.removeAttribute("aria-busy");
    }
  }

  function show(estimate, requested, isAnnounced) {
    requested.forEach((item, index) => rowOf(item).showPrice(estimate.items[index]));
    replace(result, estimateResult(estimate, requested, { units, currency, opened }));
    const month = estimate.month === null
      ? t("estimate.no_total")
      : t("estimate.per_month", { amount: `${roundedText(estimate.month, currency)} ${currency}` });
    replace(barText, h("span", { "aria-hidden": "true" }, estimate.fits ? "✓ " : "✖ "), month);
    if (isAnnounced) announce(summary(estimate, month));
  }

  function add(item) {
    if (items.length >= MAX_ITEMS) {
      replace(notice, t("estimate.too_many", { maximum: formatNumber(MAX_ITEMS) }));
      return null;
    }
    items.push(item);
    render();
    update();
    return rowOf(item);
  }

  // Another instance of the same flavor increases the count.
  function addFlavor(flavor) {
    const item = items.find((each) => each.flavor === flavor);
    if (!item) {
      add({ kind: "instance", count: 1, flavor });
    } else if (item.count < LIMITS.count) {
      item.count += 1;
      rowOf(item).update();
      update();
    }
  }

  function remove(item) {
    const index = items.indexOf(item);
    items.splice(index, 1);
    rows.delete(item);
    render();
    update();
    // Continue at the next item.
    const next = items[Math.min(index, items.length - 1)];
    (next ? rowOf(next).querySelector(".stepper input") : heading).focus();
    announce(t("estimate.removed", { name: itemName(item) }));
  }

  function removeAll() {
    items.length = 0;
    rows.clear();
    render();
    update();
    heading.focus();
  }

  function setNode(value) {
    node = value;
    if (items.length > 0) load({ isAnnounced: true });
  }

  function showCard() {
    heading.focus();
    card.scrollIntoView();
  }

  const addButton = (kind) => {
    const addItem = () => {
      const row = add({ kind, ...NEW_ITEMS[kind] });
      (row?.querySelector(".item-size") ?? row?.querySelector(".item-count"))?.focus();
    };
    return h("button", { type: "button", onclick: addItem }, t(`estimate.add.${kind}`));
  };
  const card = h(
    "section",
    { class: "card estimate", "aria-labelledby": id },
    h("header", { class: "panel-head" }, heading, code, clear),
    hint,
    list,
    h("div", { class: "estimate-add", role: "group", "aria-label": t("estimate.add") }, Object.keys(NEW_ITEMS).map(addButton)),
    notice,
    result,
  );
  render();
  if (items.length > 0) load();
  return { card, bar, addFlavor, setNode };
}

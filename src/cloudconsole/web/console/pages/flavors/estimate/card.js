// What several resources would cost together, and whether the quotas allow them.

import { roundedText } from "../../../components/amount.js";
import { announce } from "../../../components/announce.js";
import { commandsButton } from "../../../components/commands.js";
import { h, newId, replace } from "../../../core/dom.js";
import { formatNumber, t } from "../../../core/i18n.js";
import { errorBox } from "../../../core/panel.js";
import { CallCancelled, call } from "../../../core/session.js";
import { invalidRow, itemName, itemRow } from "./item_row.js";
import { LIMITS, MAX_ITEMS, formatItems, parseItems, requestItem } from "./items.js";
import { estimateDetails, estimateResult, summary } from "./result.js";
import { saveEstimate } from "./saved.js";

const DEBOUNCE_MS = 250;
const NEW_ITEMS = {
  volume: { count: 1, size: 100, type: "" },
  image: { count: 1, size: 20 },
  loadbalance: { count: 1 },
  floating_ip: { count: 1 },
};

// Returns {card, bar, addFlavor}; the bar leads to the card where that is below the table. The result is at the top,
// because the card may be longer than the window.
export function estimateCard({
  flavors, units, currency, monthDays, volumeTypes, state, nodes, node: firstNode, onNode,
}) {
  const id = newId("estimate");
  const parsed = parseItems(state.get("items"), flavors);
  const items = parsed.slice(0, MAX_ITEMS);
  const rows = new Map();
  const opened = new Set();
  const heading = h("h2", { id, tabindex: "-1" }, t("estimate.title"));
  const list = h("ul", { class: "estimate-items" });
  const hint = h("p", { class: "empty" }, t("estimate.empty"));
  const notice = h("p", { class: "error", role: "alert" });
  const result = h("div", { class: "estimate-result" });
  const details = h("div", { class: "estimate-details" });
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
    list.hidden = clear.hidden = items.length === 0;
    code.hidden = included().length === 0;
    hint.hidden = items.length > 0;
  }

  function rowOf(item) {
    const onRemove = () => remove(item);
    const newRow = () => itemRow(item, { units, volumeTypes, currency, onChange: () => update(), onRemove });
    if (!rows.has(item)) rows.set(item, item.invalid ? invalidRow(item, onRemove) : newRow());
    return rows.get(item);
  }

  function included() {
    return items.filter(({ invalid }) => !invalid);
  }

  function estimateRequest() {
    return { action: "GetEstimate", fields: { items: included().map((item) => requestItem(item, node)) } };
  }

  // The URL changes at once, the estimate after a pause in typing.
  function update() {
    replace(notice);
    state.set({ items: formatItems(items) });
    saveEstimate(state);
    clearTimeout(timer);
    requests += 1;
    if (included().length === 0) {
      result.removeAttribute("aria-busy");
      replace(result);
      replace(details);
      showEmptyBar();
      return;
    }
    result.setAttribute("aria-busy", "true");
    timer = setTimeout(() => card.isConnected && load({ isAnnounced: true }), DEBOUNCE_MS);
  }

  // Only the last request counts.
  async function load({ isAnnounced = false } = {}) {
    requests += 1;
    const request = requests;
    const requested = included();
    result.setAttribute("aria-busy", "true");
    try {
      const estimate = await call("GetEstimate", estimateRequest().fields);
      if (request === requests) show(estimate, requested, isAnnounced);
    } catch (error) {
      if (error instanceof CallCancelled || request !== requests) return;
      for (const item of requested) rowOf(item).showPrice(null);
      replace(result, errorBox(error, () => load()));
      replace(details);
      replace(barText, t("estimate.title"));
    } finally {
      if (request === requests) result.removeAttribute("aria-busy");
    }
  }

  function show(estimate, requested, isAnnounced) {
    requested.forEach((item, index) => rowOf(item).showPrice(estimate.items[index]));
    replace(result, estimateResult(estimate, { units, currency, monthDays, notIncluded: notIncluded() }));
    replace(details, estimateDetails(estimate, requested, { units, currency, monthDays, opened }));
    const month = estimate.month === null
      ? t("estimate.no_total")
      : t("estimate.per_month", { amount: `${roundedText(estimate.month, currency)} ${currency}` });
    const mark = !estimate.fits ? "✖ " : notIncluded() ? "▲ " : "✓ ";
    replace(barText, h("span", { "aria-hidden": "true" }, mark), [month, notIncluded()].filter(Boolean).join(" · "));
    if (isAnnounced) announce(summary(estimate, month, notIncluded()));
  }

  // Nothing can be estimated.
  function showEmptyBar() {
    replace(barText, notIncluded() ?? t("estimate.bar.empty"));
  }

  // What the result leaves out, or null.
  function notIncluded() {
    const count = items.length - included().length;
    return count === 0 ? null : t("estimate.not_included", { count: formatNumber(count) });
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
    (next ? focusTarget(rowOf(next)) : heading).focus();
    announce(t("estimate.removed", { name: itemName(item) }));
  }

  function focusTarget(row) {
    return row.querySelector(".item-count") ?? row.querySelector(".item-remove");
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
    state.set({ node });
    saveEstimate(state);
    if (included().length > 0) load({ isAnnounced: true });
    onNode(node);
  }

  function nodeField() {
    if (nodes.length === 0) return null;
    const selectId = newId("node");
    const option = (value, label) => h("option", { value, selected: value === node }, label);
    const label = ({ name, hasPrices }) => (hasPrices ? name : t("estimate.standard_node", { node: name }));
    const options = [option("", t("estimate.standard")), nodes.map((each) => option(each.name, label(each)))];
    const select = h("select", { id: selectId }, options);
    select.addEventListener("change", () => setNode(select.value));
    return h("div", { class: "estimate-node" }, h("label", { for: selectId }, t("estimate.node")), select);
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
    result,
    nodeField(),
    hint,
    list,
    h("div", { class: "estimate-add", role: "group", "aria-label": t("estimate.add") }, Object.keys(NEW_ITEMS).map(addButton)),
    notice,
    details,
  );
  render();
  saveEstimate(state);
  if (parsed.length > MAX_ITEMS) replace(notice, t("estimate.too_many", { maximum: formatNumber(MAX_ITEMS) }));
  if (included().length > 0) load();
  else showEmptyBar();
  return { card, bar, addFlavor };
}

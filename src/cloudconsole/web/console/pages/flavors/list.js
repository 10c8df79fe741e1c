// All flavors, filtered and sorted, with how many more fit into the quotas and, with GetEstimate, their prices.

import { announce } from "../../components/announce.js";
import { commandsButton } from "../../components/commands.js";
import { h, newId, replace } from "../../core/dom.js";
import { language, t } from "../../core/i18n.js";
import { errorBox } from "../../core/panel.js";
import { compare } from "../../core/money.js";
import { CallCancelled, call } from "../../core/session.js";
import { availability } from "./availability.js";
import { flavorFilters } from "./filters.js";
import { flavorPrices } from "./prices.js";
import { flavorTable } from "./table.js";

const SORTS = ["name", "vcpus", "ram", "disk", "fits", "month"];

// `pricing` is null without GetEstimate, else {currency, monthDays, node, onAdd}. The element's `setNode` method shows the prices
// of another node.
export function flavorList(data, units, state, pricing) {
  const id = newId("flavors");
  const notice = h("div", { class: "list-notice" });
  const count = h("p", { class: "count muted" });
  const noResults = h("p", { class: "empty" }, t("flavors.no_match"));
  const output = h("div", { class: "flavor-output" });
  // Undefined while loading, null if it could not be loaded.
  let usage;
  let prices = pricing ? undefined : null;
  let node = pricing?.node ?? "";
  let sort = SORTS.includes(state.get("sort")) ? state.get("sort") : "";
  let isDescending = state.get("order") === "desc";
  const filters = flavorFilters(data, units, state, () => render());
  const reset = h("button", { type: "button", class: "plain", onclick: () => filters.reset() }, t("flavors.reset"));
  const table = flavorTable({ units, currency: pricing?.currency, facts, heading, attributes, onAdd: pricing?.onAdd });

  function facts(flavor) {
    return { fits: usage && availability(flavor, usage), price: prices && (prices.get(flavor.id) ?? null) };
  }

  function render({ keepLimit = false } = {}) {
    const focusKey = output.contains(document.activeElement) && document.activeElement.dataset.focusKey;
    const rows = filters.matches().sort(comparator());
    replace(count, [filters.countText(), node && t("flavors.prices_of", { node })].filter(Boolean).join(" · "));
    noResults.hidden = rows.length > 0;
    output.hidden = rows.length === 0;
    filters.renderToggle();
    reset.hidden = filters.activeCount() === 0;
    table.show(rows, { keepLimit });
    if (focusKey) output.querySelector(`[data-focus-key="${CSS.escape(focusKey)}"]`)?.focus();
  }

  // Text sorts naturally, 2C before 16C. Unknown values are last. Sorting is stable, so ties keep the API's order.
  function comparator() {
    const { compare } = new Intl.Collator(language(), { numeric: true });
    const direction = isDescending ? -1 : 1;
    const known = (value, rest) => (value === null ? Infinity : rest(value));
    const orders = {
      name: (a, b) => direction * compare(a.name, b.name),
      fits: (a, b) => {
        const [left, right] = [a, b].map((each) => known(availability(each, usage).count, (value) => value));
        return left === right ? 0 : direction * (left < right ? -1 : 1);
      },
      month: (a, b) => {
        const [left, right] = [a, b].map((each) => prices.get(each.id)?.month ?? null);
        if (left === null || right === null) return Number(left === null) - Number(right === null);
        return direction * compare(left, right);
      },
    };
    if (!sort || (sort === "fits" && !usage) || (sort === "month" && !prices)) return () => 0;
    return orders[sort] ?? ((a, b) => direction * (a[sort] - b[sort]));
  }

  function sortBy(column) {
    [isDescending, sort] = [sort === column && !isDescending, column];
    state.set({ sort, order: isDescending ? "desc" : "" });
    for (const each of output.querySelectorAll("thead th:not(.col-add)")) updateHeading(each);
    render();
    announce(t(isDescending ? "flavors.sorted.desc" : "flavors.sorted.asc", { column: columnLabel(column) }));
  }

  function updateHeading(cell) {
    const column = cell.className.slice("col-".length);
    replace(cell.querySelector(".arrow"), arrow(column));
    const { "aria-sort": order } = attributes(column);
    if (order) cell.setAttribute("aria-sort", order);
    else cell.removeAttribute("aria-sort");
  }

  function heading(column) {
    const button = { type: "button", class: "sort", onclick: () => sortBy(column) };
    return h("button", button, columnLabel(column), h("span", { class: "arrow", "aria-hidden": "true" }, arrow(column)));
  }

  function columnLabel(column) {
    return t(`flavor.${column}`, { currency: pricing?.currency });
  }

  function arrow(column) {
    return column !== sort ? "↕" : isDescending ? "↓" : "↑";
  }

  function attributes(column) {
    return { "aria-sort": column === sort ? (isDescending ? "descending" : "ascending") : null };
  }

  // The flavors are shown meanwhile, and also if this fails.
  async function loadFacts() {
    const requested = node;
    replace(notice);
    const needsPrices = Boolean(pricing) && !prices;
    const [usageResult, priceResult] = await Promise.allSettled([
      usage ?? call("GetUsageLimits"),
      needsPrices ? flavorPrices(data.flavors, requested) : prices,
    ]);
    const failures = [usageResult, priceResult].filter(({ status }) => status === "rejected").map(({ reason }) => reason);
    if (requested !== node || failures.some((reason) => reason instanceof CallCancelled)) return;
    [usage, prices] = [usageResult.value ?? null, priceResult.value ?? null];
    if (failures.length > 0) replace(notice, errorBox(failures[0], retry));
    render({ keepLimit: true });
  }

  function retry() {
    if (!usage) usage = undefined;
    if (pricing && !prices) prices = undefined;
    render({ keepLimit: true });
    loadFacts();
  }

  function setNode(value) {
    node = value;
    prices = undefined;
    render({ keepLimit: true });
    loadFacts();
  }

  replace(output, table.element);
  render();
  loadFacts();
  const section = h(
    "section",
    { class: "card flavor-list", "aria-labelledby": id },
    h(
      "header",
      { class: "panel-head" },
      h("h2", { id }, t("flavors.pick")),
      commandsButton(t("nav.flavors"), () => ({ action: "GetFlavors", cli: ["flavors"] })),
    ),
    filters.toggle,
    filters.element,
    h("div", { class: "list-head" }, count, reset),
    pricing && h("p", { class: "hint" }, t("flavors.prices_include", { days: pricing.monthDays })),
    notice,
    noResults,
    output,
  );
  section.setNode = setNode;
  return section;
}

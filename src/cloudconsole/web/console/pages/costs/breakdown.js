// The costs of a month by kind, node or resource, with a search, and what is not known about them.

import { announce } from "../../components/announce.js";
import { h, newId, replace } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { errorBox, toApiError } from "../../core/panel.js";
import { CallCancelled } from "../../core/session.js";
import { formatMonth, formatTime } from "../../core/time.js";
import { breakdownTable } from "./breakdown_table.js";
import { periodOf } from "./calculation.js";
import { kindName } from "./kinds.js";
import { monthSummary } from "./month_summary.js";
import { GROUPS, groupRows, isGap, loadRows } from "./rows.js";

const DEBOUNCE_MS = 250;
const GAPS_SHOWN = 3;
// Fewer resources are seen at a glance.
const SEARCH_FROM = 9;
// What the rows can be limited to, and the field of a row that has it.
const FILTERS = { kind: "res_type", node: "region" };

export function breakdown(loaded, { month, isCurrent, info, state }) {
  const { bill, previous, prices, itemsBefore } = loaded;
  const { currency } = info;
  const summary = h("div", { class: "month-summary" });
  const notes = h("div", { class: "breakdown-notes" });
  const filters = h("div", { class: "row filters-in-use" });
  const count = h("p", { class: "count muted" });
  const output = h("div", {});
  let { items, isComplete } = loaded;
  let by = groupOf(state);
  let search = state.get("search");
  let timer = null;
  const hasSearch = search !== "" || !isComplete || groupRows(items, "resource").length >= SEARCH_FROM;

  function render() {
    const costs = items.filter((item) => !isGap(item));
    const inUse = Object.keys(FILTERS).filter((name) => state.get(name) !== "");
    const isFound = (item) => inUse.every((name) => item[FILTERS[name]] === state.get(name));
    const all = groupRows(costs.filter(isFound), by);
    const before = itemsBefore && new Map(groupRows(itemsBefore.filter(isFound), by).map((group) => [group.key, group]));
    const groups = all.filter((group) => matches(group, by, search));
    replace(filters, inUse.map(filterButton));
    replace(count, countText(groups.length, all.length));
    const isFiltered = search !== "" || inUse.length > 0;
    const totalLabel = t(isComplete ? (isFiltered ? "costs.total.found" : "costs.total") : "costs.total.loaded");
    // Of the rows of one node, those of a resource that moved may end in the middle of the month.
    const isKnown = isComplete && bill?.complete && costs.length === items.length && state.get("node") === "";
    const period = isKnown && costs.length > 0 ? periodOf(costs, month, isCurrent) : null;
    const options = { before, by, costs, currency, month, period, prices, totalLabel, onSelect: showResources };
    replace(output, groups.length > 0 ? breakdownTable(groups, options) : h("p", { class: "empty" }, t("costs.no_results")));
  }

  function countText(matching, all) {
    const values = { count: formatNumber(matching), total: formatNumber(all) };
    return t(search ? "costs.count.filtered" : "costs.count", values);
  }

  function renderNotes() {
    const gaps = items.filter(isGap);
    const costs = isComplete ? items.filter((item) => !isGap(item)) : null;
    replace(summary, monthSummary(costs, { month, isCurrent, bill, previous, currency }));
    replace(
      notes,
      !isComplete && truncated(),
      gaps.length > 0 && gapNote(gaps),
      gaps.length === 0 && bill?.complete === false && h("p", { class: "notice warning" }, t("costs.incomplete")),
    );
  }

  // Part of a large month: more on demand.
  function truncated() {
    const problem = h("div", {});
    const text = t("costs.truncated", { count: formatNumber(items.length) });
    const button = h("button", { type: "button", onclick: loadMore }, t("costs.load_more"));
    let isLoading = false;

    async function loadMore() {
      if (isLoading) return;
      isLoading = true;
      button.setAttribute("aria-disabled", "true");
      replace(problem);
      try {
        ({ items, isComplete } = await loadRows(month, items, () => output.isConnected));
        render();
        renderNotes();
        announce(t("costs.loaded", { count: formatNumber(items.length) }));
        (notes.querySelector("button") ?? checkRadio()).focus();
      } catch (error) {
        if (error instanceof CallCancelled) return;
        replace(problem, errorBox(toApiError(error), loadMore));
      } finally {
        isLoading = false;
        button.removeAttribute("aria-disabled");
      }
    }
    return h("div", { class: "notice warning" }, h("p", {}, text), h("p", {}, button), problem);
  }

  function selectGroup(group, values = {}) {
    by = group;
    state.push({ ...values, by: group === GROUPS[0] ? "" : group });
    render();
    announce(count.textContent);
  }

  // The resources of a kind or node, which add up to its cost.
  function showResources({ item }) {
    [search, input.value] = ["", ""];
    selectGroup("resource", { [by]: item[FILTERS[by]], search });
    checkRadio().focus();
  }

  function checkRadio() {
    const radio = selector.querySelector(`[value=${by}]`);
    radio.checked = true;
    return radio;
  }

  // Back and Forward.
  function restore() {
    if (!output.isConnected) return;
    clearTimeout(timer);
    by = groupOf(state);
    search = input.value = state.get("search");
    checkRadio();
    render();
    announce(count.textContent);
  }

  function filterButton(name) {
    const value = name === "kind" ? kindName(state.get(name)) : state.get(name);
    const remove = () => {
      state.push({ [name]: "" });
      render();
      announce(count.textContent);
      checkRadio().focus();
    };
    return h(
      "button",
      { type: "button", class: "filter-in-use", onclick: remove },
      h("span", { class: "visually-hidden" }, t("costs.remove_filter"), " "),
      h("span", {}, t("costs.filter", { name: t(`costs.${name}`), value })),
      h("span", { "aria-hidden": "true" }, "✕"),
    );
  }

  // The number of results is announced after a pause in typing, not at each key.
  function handleInput({ target }) {
    search = target.value.trim();
    render();
    clearTimeout(timer);
    timer = setTimeout(() => {
      // After navigating away, the URL belongs to another page.
      if (!output.isConnected) return;
      state.set({ search });
      announce(count.textContent);
    }, DEBOUNCE_MS);
  }

  const id = newId("search");
  const verbatim = { autocomplete: "off", autocapitalize: "none", spellcheck: "false" };
  const input = h("input", { type: "search", id, value: search, oninput: handleInput, ...verbatim });
  const selector = groupSelector(by, selectGroup);
  if (isComplete && items.every(isGap)) return emptyMonth(items, bill, month);
  state.onReturn(restore);
  render();
  renderNotes();
  return [
    summary,
    notes,
    h(
      "div",
      { class: "breakdown-tools" },
      selector,
      h("div", { class: "search" }, hasSearch && [h("label", { for: id }, t("costs.search")), input], count),
      filters,
    ),
    output,
  ];
}

// One statement about a month without costs. Only a complete bill says that there were none.
function emptyMonth(gaps, bill, month) {
  const isFree = bill?.complete && gaps.length === 0;
  const key = bill !== null && bill.total === null ? "no_record" : isFree ? "free" : "empty";
  const text = h("p", { class: "empty" }, t(`costs.month.${key}`, { month: formatMonth(month) }));
  return [gaps.length > 0 && gapNote(gaps), text];
}

// The chosen grouping, which is in the URL.
export function groupOf(state) {
  return GROUPS.find((group) => group === state.get("by")) ?? GROUPS[0];
}

function groupSelector(selected, onSelect) {
  const name = newId("group");
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", { class: "visually-hidden" }, t("costs.group")),
    GROUPS.map((group) => {
      const state = { checked: group === selected, onchange: () => onSelect(group) };
      return h("label", {}, h("input", { type: "radio", name, value: group, ...state }), h("span", {}, t(`costs.by.${group}`)));
    }),
  );
}

// Resources are also found by kind and node.
function matches({ item, nodes }, by, search) {
  const texts = {
    kind: [item.res_type, kindName(item.res_type)],
    node: [item.region],
    resource: [item.name, item.res_id, kindName(item.res_type), ...nodes],
  };
  const text = search.toLowerCase();
  return texts[by].some((each) => each.toLowerCase().includes(text));
}

function gapNote(gaps) {
  const item = ({ start_at: start, end_at: end }) =>
    h("li", {}, t("costs.gap", { start: formatTime(start), end: formatTime(end) }));
  const rest = gaps.slice(GAPS_SHOWN);
  return h(
    "div",
    { class: "notice warning gaps" },
    h("p", {}, t("costs.gaps")),
    h("ul", {}, gaps.slice(0, GAPS_SHOWN).map(item)),
    rest.length > 0 &&
      h("details", {}, h("summary", {}, t("costs.more", { count: formatNumber(rest.length) })), h("ul", {}, rest.map(item))),
  );
}

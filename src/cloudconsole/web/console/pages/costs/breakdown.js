// The costs of a month by kind, node or resource, with a search, and what is not known about them.

import { amount, percent } from "../../components/amount.js";
import { announce } from "../../components/announce.js";
import { dataTable } from "../../components/data_table.js";
import { h, newId, replace } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { compare, share } from "../../core/money.js";
import { errorBox, toApiError } from "../../core/panel.js";
import { CallCancelled } from "../../core/session.js";
import { formatMonth, formatTime } from "../../core/time.js";
import { kindName } from "./kinds.js";
import { progress } from "./this_month.js";
import { GROUPS, groupRows, isGap, loadRows, total } from "./rows.js";

const DEBOUNCE_MS = 250;
const GAPS_SHOWN = 3;

export function breakdown(loaded, { month, info, state }) {
  const { bill } = loaded;
  const output = h("div", {});
  const count = h("p", { class: "count muted" });
  const notes = h("div", { class: "breakdown-notes" });
  let { items, isComplete } = loaded;
  let by = groupOf(state);
  let search = state.get("search");
  let timer = null;

  function render() {
    const costs = items.filter((item) => !isGap(item));
    const groups = groupRows(costs, by);
    const found = groups.filter((group) => matches(group, by, search));
    replace(count, countText(found.length, groups.length));
    const options = { by, currency: info.currency, month, whole: total(costs), isComplete, isFiltered: search !== "" };
    if (groups.length === 0) replace(output, h("p", { class: "empty" }, t("costs.month.empty")));
    else if (found.length === 0) replace(output, h("p", { class: "empty" }, t("costs.no_results")));
    else replace(output, table(found, options));
  }

  function countText(matching, all) {
    const values = { count: formatNumber(matching), total: formatNumber(all) };
    return t(search ? "costs.count.filtered" : "costs.count", values);
  }

  function renderNotes() {
    const gaps = items.filter(isGap);
    const corrections = items.filter((item) => item.billing_type === "correction");
    replace(
      notes,
      !isComplete && truncated(),
      gaps.length > 0 && gapNote(gaps),
      gaps.length === 0 && bill !== null && billNote(bill),
      corrections.length > 0 &&
        h("p", { class: "hint" }, t("costs.corrections"), " ", amount(total(corrections), info.currency), " ", info.currency),
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
        (notes.querySelector("button") ?? input).focus();
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

  function selectGroup(group) {
    by = group;
    state.set({ by: group === GROUPS[0] ? "" : group });
    render();
    announce(count.textContent);
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
  render();
  renderNotes();
  return [
    notes,
    h(
      "div",
      { class: "breakdown-tools" },
      groupSelector(by, selectGroup),
      h("div", { class: "search" }, h("label", { for: id }, t("costs.search")), input, count),
    ),
    output,
  ];
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

function table(groups, { by, currency, month, whole, isComplete, isFiltered }) {
  const first = { name: by, label: t(`costs.${by}`) };
  const details = by === "resource" ? [["kind", kindOf], ["node", nodesOf]] : [];
  const columns = [
    first,
    ...details.map(([name]) => ({ name, label: t(`costs.${name}`) })),
    { name: "amount", label: t("costs.cost"), isNumber: true, isMain: true },
    { name: "share", label: t("costs.share"), isNumber: true },
  ];
  const label = isComplete ? (isFiltered ? "costs.total.found" : "costs.total") : "costs.total.loaded";
  return dataTable({
    caption: t("costs.breakdown.caption", { month: formatMonth(month), currency }),
    name: `breakdown-table by-${by}`,
    columns,
    rows: groups.map((group) => [
      groupName(group, by),
      ...details.map(([, content]) => content(group)),
      amount(group.amount, currency),
      shareOf(group.amount, whole),
    ]),
    totals: [
      t(label),
      ...details.map(() => ""),
      amount(total(groups), currency),
      shareOf(total(groups), whole),
    ],
  });
}

function groupName({ item }, by) {
  if (by === "kind") return kindName(item.res_type);
  if (by === "node") return item.region === "" ? h("span", { class: "muted" }, t("costs.no_node")) : h("bdi", {}, item.region);
  // The correction of a price.
  if (item.res_id === "") return t("costs.correction");
  return [h("bdi", {}, item.name), h("bdi", { class: "resource-id muted" }, item.res_id)];
}

function kindOf({ item }) {
  return kindName(item.res_type);
}

function nodesOf({ nodes }) {
  return nodes.map((node, index) => [index > 0 && t("list.comma"), h("bdi", {}, node)]);
}

// Corrections can make an amount negative, and then a share says nothing.
function shareOf(part, whole) {
  if (compare(part, "0") < 0 || compare(whole, "0") <= 0) return "";
  if (compare(part, whole) > 0) return "";
  const fraction = share(part, whole);
  const text = compare(part, "0") === 0 ? t("amount.share", { percent: "0" }) : percent(fraction);
  return h("span", { class: "share" }, progress(fraction), h("span", { class: "percent" }, text));
}

function billNote({ total: amountOfMonth, complete }) {
  if (amountOfMonth === null) return h("p", { class: "notice" }, t("costs.month.no_record"));
  return complete ? null : h("p", { class: "notice warning" }, t("costs.incomplete"));
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
      h("details", {}, h("summary", {}, t("costs.gaps.more", { count: formatNumber(rest.length) })), h("ul", {}, rest.map(item))),
  );
}

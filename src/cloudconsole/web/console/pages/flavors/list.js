// All flavors, searchable by name or ID and sortable by any column.

import { announce } from "../../components/announce.js";
import { h, newId, replace } from "../../core/dom.js";
import { formatNumber, language, t } from "../../core/i18n.js";
import { COLUMNS, flavorTable } from "./table.js";

const TEXT_COLUMNS = ["name", "id"];
const DEBOUNCE_MS = 250;

export function flavorList({ flavors }, units, state) {
  const id = newId("flavors");
  const output = h("div", {});
  const count = h("p", { class: "count muted" });
  let sort = COLUMNS.includes(state.get("sort")) ? state.get("sort") : "";
  let isDescending = state.get("order") === "desc";
  let search = state.get("search");
  let timer = null;

  function render() {
    const rows = filter(flavors, search).sort(comparator(sort, isDescending));
    replace(count, countText(rows.length));
    const isEmpty = rows.length === 0;
    const table = () => flavorTable(rows, units, { caption: t("flavors.all"), heading: sortButton, attributes });
    replace(output, isEmpty ? h("p", { class: "empty" }, t("flavors.no_results")) : table());
  }

  function countText(matches) {
    const values = { count: formatNumber(matches), total: formatNumber(flavors.length) };
    return t(search ? "flavors.count.filtered" : "flavors.count", values);
  }

  function saveState() {
    state.set({ search, sort, order: sort && isDescending ? "desc" : "" });
  }

  function sortBy(column) {
    [isDescending, sort] = [sort === column && !isDescending, column];
    saveState();
    render();
    output.querySelector(`.col-${column} button`).focus();
    announce(t(isDescending ? "flavors.sorted.desc" : "flavors.sorted.asc", { column: t(`flavor.${column}`) }));
  }

  function sortButton(column) {
    const arrow = column !== sort ? "↕" : isDescending ? "↓" : "↑";
    const button = { type: "button", class: "sort", onclick: () => sortBy(column) };
    return h("button", button, t(`flavor.${column}`), h("span", { "aria-hidden": "true" }, arrow));
  }

  function attributes(column) {
    return { "aria-sort": column === sort ? (isDescending ? "descending" : "ascending") : null };
  }

  // The number of results is announced after a pause in typing, not at each key.
  function handleInput(event) {
    search = event.target.value.trim();
    render();
    clearTimeout(timer);
    timer = setTimeout(() => {
      // After navigating away, the URL belongs to another page.
      if (!output.isConnected) return;
      saveState();
      announce(count.textContent);
    }, DEBOUNCE_MS);
  }

  render();
  const inputId = newId("search");
  const verbatim = { autocomplete: "off", autocapitalize: "none", spellcheck: "false" };
  const input = h("input", { type: "search", id: inputId, value: search, oninput: handleInput, ...verbatim });
  return h(
    "section",
    { class: "card flavor-list", "aria-labelledby": id },
    h("h2", { id }, t("flavors.all")),
    flavors.length === 0
      ? h("p", { class: "empty" }, t("flavors.empty"))
      : [h("div", { class: "search" }, h("label", { for: inputId }, t("flavors.search")), input, count), output],
  );
}

function filter(flavors, search) {
  const text = search.toLowerCase();
  return flavors.filter(({ name, id }) => name.toLowerCase().includes(text) || id.toLowerCase().includes(text));
}

// Text sorts naturally, 2C before 16C. The sort is stable, so ties keep the API's order.
function comparator(column, isDescending) {
  if (!column) return () => 0;
  const { compare } = new Intl.Collator(language(), { numeric: true });
  const byText = (a, b) => compare(a[column], b[column]);
  const ascending = TEXT_COLUMNS.includes(column) ? byText : (a, b) => a[column] - b[column];
  return isDescending ? (a, b) => ascending(b, a) : ascending;
}

// A table that shows each row as a block on narrow screens. Rows are added in batches: thousands at once would make the
// page slow.

import { h, replace } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";

const BATCH = 100;

// `columns` are {name, label, isNumber, isMain}; a row is a list of contents, one per column, of which the first names it.
// With a main column, a narrow screen shows it beside the name, and the others below.
// Explicit roles keep the table a table for screen readers when its parts are displayed as blocks.
export function dataTable({ caption, columns, rows, totals, name = "" }) {
  const body = h("tbody", { role: "rowgroup" });
  const more = h("p", { class: "show-more" });
  let count = 0;

  function addBatch() {
    const first = count;
    count = Math.min(rows.length, count + BATCH);
    body.append(...rows.slice(first, count).map((contents) => row(columns, contents)));
    const values = { count: formatNumber(count), total: formatNumber(rows.length) };
    const next = Math.min(BATCH, rows.length - count);
    const button = () =>
      h("button", { type: "button", onclick: showMore }, t("table.more", { count: formatNumber(next) }));
    replace(more, next > 0 && [h("span", {}, t("table.shown", values)), button()]);
  }

  // Move the focus from the button to the first new row.
  function showMore() {
    const first = count;
    addBatch();
    const cell = body.rows[first].cells[0];
    cell.tabIndex = -1;
    cell.focus();
  }

  addBatch();
  const headings = columns.map((column) =>
    h("th", { scope: "col", role: "columnheader", class: cellClass(column) }, column.label),
  );
  const table = h(
    "table",
    { class: `data-table ${columns.some(({ isMain }) => isMain) ? "is-compact" : ""} ${name}`, role: "table" },
    h("caption", {}, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headings)),
    body,
    totals && h("tfoot", { role: "rowgroup" }, row(columns, totals)),
  );
  return [table, more];
}

function row(columns, contents) {
  const cells = columns.map((column, index) => {
    const attributes = { class: cellClass(column), "data-label": column.label };
    if (index === 0) return h("th", { scope: "row", role: "rowheader", class: cellClass(column) }, contents[index]);
    return h("td", { role: "cell", ...attributes }, h("span", { class: "cell" }, contents[index]));
  });
  return h("tr", { role: "row" }, cells);
}

function cellClass({ name, isNumber, isMain }) {
  return [`col-${name}`, isNumber && "number", isMain && "is-main"].filter(Boolean).join(" ");
}

// A table that shows each row as a block on narrow screens.

import { h } from "../core/dom.js";
import { batches } from "./batches.js";

// `columns` are {name, label, isNumber, isMain}; a row is a list of contents, one per column, of which the first names it.
// With a main column, a narrow screen shows it beside the name, and the others below.
// Explicit roles keep the table a table for screen readers when its parts are displayed as blocks.
export function dataTable({ caption, columns, rows, totals, name = "" }) {
  const shown = batches((contents) => row(columns, contents), { role: "rowgroup" });
  shown.show(rows);
  const headings = columns.map((column) =>
    h("th", { scope: "col", role: "columnheader", class: cellClass(column) }, column.label),
  );
  const table = h(
    "table",
    { class: `data-table ${columns.some(({ isMain }) => isMain) ? "is-compact" : ""} ${name}`, role: "table" },
    h("caption", {}, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headings)),
    shown.body,
    totals && h("tfoot", { role: "rowgroup" }, row(columns, totals)),
  );
  return [table, shown.footer];
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

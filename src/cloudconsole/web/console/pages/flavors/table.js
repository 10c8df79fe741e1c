// A table of flavors. Rows are added in batches: thousands at once would make the page slow.

import { copyButton } from "../../components/copy_button.js";
import { h, replace } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { formatSize } from "../../core/numbers.js";

const BATCH = 100;

export const COLUMNS = ["name", "id", "vcpus", "ram", "disk"];

// `heading` and `attributes` customise column headings; `hasCopyButtons` adds a copy button to each ID.
export function flavorTable(rows, units, { caption, heading = columnLabel, attributes, hasCopyButtons = false }) {
  const body = h("tbody", {});
  const footer = h("p", { class: "show-more" });
  let count = 0;

  function addBatch() {
    const first = count;
    count = Math.min(rows.length, count + BATCH);
    body.append(...rows.slice(first, count).map((flavor) => row(flavor, units, hasCopyButtons)));
    const next = Math.min(BATCH, rows.length - count);
    replace(footer, next > 0 && [
      t("list.shown", { count: formatNumber(count), total: formatNumber(rows.length) }),
      " ",
      h("button", { type: "button", onclick: showMore }, t("list.more", { count: formatNumber(next) })),
    ]);
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
  const headings = COLUMNS.map((column) =>
    h("th", { scope: "col", class: `col-${column}`, ...attributes?.(column) }, heading(column)),
  );
  const table = h("table", { class: "flavor-table" }, h("caption", { class: "visually-hidden" }, caption),
    h("thead", {}, h("tr", {}, headings)), body);
  return [h("div", { class: "scroll" }, table), footer];
}

function columnLabel(column) {
  return t(`flavor.${column}`);
}

function row(flavor, units, hasCopyButton) {
  const id = h("bdi", {}, flavor.id);
  const copy = hasCopyButton && [" ", copyButton(flavor.id, t("flavor.id_of", { name: flavor.name }), id)];
  const noDisk = () => h("span", { class: "muted" }, t("flavor.no_disk"));
  const disk = () => cell("disk", formatSize(flavor.disk, units.disk), t("flavor.suffix.disk"));
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "col-name" }, h("bdi", {}, flavor.name)),
    h("td", { class: "col-id" }, id, copy),
    cell("vcpus", formatNumber(flavor.vcpus), t(flavor.vcpus === 1 ? "flavor.suffix.core" : "flavor.suffix.cores")),
    cell("ram", formatSize(flavor.ram, units.ram), t("flavor.suffix.ram")),
    flavor.disk === 0 ? cell("disk", noDisk()) : disk(),
  );
}

// The suffix replaces the column heading on narrow screens.
function cell(column, content, suffix = null) {
  return h("td", { class: `col-${column}`, "data-suffix": suffix }, content);
}

// Flavors as a table, so many rows at a time: thousands at once would make a page slow.

import { h, replace } from "../../core/dom.js";
import { size } from "../../core/numbers.js";
import { number, t } from "../../core/i18n.js";
import { copyButton } from "../../components/copy_button.js";

const SLICE = 100;

export const COLUMNS = ["name", "id", "vcpus", "ram", "disk"];

// `heading` and `attributes` may make a column's heading more than its name; `isCopied` puts a button beside each id.
export function flavorTable(rows, units, { caption, heading = named, attributes, isCopied = false }) {
  const body = h("tbody", {});
  const rest = h("p", { class: "more" });
  let count = 0;

  function showMore() {
    const first = count;
    count = Math.min(rows.length, count + SLICE);
    body.append(...rows.slice(first, count).map((flavor) => row(flavor, units, isCopied)));
    const left = Math.min(SLICE, rows.length - count);
    replace(rest, left > 0 && [
      t("flavors.shown", { count: number(count), all: number(rows.length) }),
      " ",
      h("button", { type: "button", onclick: goOn }, t("flavors.more", { count: number(left) })),
    ]);
  }

  // The button may be gone or far below: the keyboard goes on at the first of the new rows.
  function goOn() {
    const first = count;
    showMore();
    const place = body.rows[first].cells[0];
    place.tabIndex = -1;
    place.focus();
  }

  showMore();
  const headings = COLUMNS.map((column) =>
    h("th", { scope: "col", class: `of-${column}`, ...attributes?.(column) }, heading(column)),
  );
  const table = h("table", { class: "flavor-table" }, h("caption", { class: "visually-hidden" }, caption),
    h("thead", {}, h("tr", {}, headings)), body);
  return [h("div", { class: "scroll" }, table), rest];
}

function named(column) {
  return t(`flavor.${column}`);
}

function row(flavor, units, isCopied) {
  const id = h("bdi", {}, flavor.id);
  const copied = isCopied && [" ", copyButton(flavor.id, t("flavor.id_of", { name: flavor.name }), id)];
  const noDisk = () => h("span", { class: "quiet" }, t("flavor.no_disk"));
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "of-name" }, h("bdi", {}, flavor.name)),
    h("td", { class: "of-id" }, id, copied),
    cell("vcpus", number(flavor.vcpus), t(flavor.vcpus === 1 ? "flavor.is.core" : "flavor.is.cores")),
    cell("ram", size(flavor.ram, units.ram), t("flavor.is.ram")),
    flavor.disk === 0 ? cell("disk", noDisk()) : cell("disk", size(flavor.disk, units.disk), t("flavor.is.disk")),
  );
}

// What it is stands behind the figure where there is no room for columns.
function cell(column, content, what = null) {
  return h("td", { class: `of-${column}`, "data-what": what }, content);
}

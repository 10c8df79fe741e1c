// The table of flavors: size, how many more fit into the quotas, price, and a button to add one to the estimate.

import { roundedAmount } from "../../components/amount.js";
import { batches } from "../../components/batches.js";
import { copyButton } from "../../components/copy_button.js";
import { h } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { groupThousands } from "../../core/money.js";
import { formatSize } from "../../core/numbers.js";

export const SIZE_COLUMNS = ["name", "vcpus", "ram", "disk"];

// `facts(flavor)` returns {fits, price}, each undefined while it is loading and null if it is not known. `heading` and
// `attributes` make column headings. Without `onAdd` there are neither prices nor buttons. Returns {element, show}.
export function flavorTable({ units, currency, facts, heading, attributes, onAdd }) {
  const rows = batches((flavor) => row(flavor, { units, currency, ...facts(flavor), onAdd }));
  const columns = [...SIZE_COLUMNS, "fits", ...(onAdd ? ["month"] : [])];
  const headings = columns.map((column) =>
    h("th", { scope: "col", class: `col-${column}`, ...attributes(column) }, heading(column)),
  );
  const action = onAdd && h("th", { scope: "col", class: "col-add" }, h("span", { class: "visually-hidden" }, t("flavors.add")));
  const caption = h("caption", { class: "visually-hidden" }, t("flavors.all"));
  const table = h("table", { class: "flavor-table" }, caption, h("thead", {}, h("tr", {}, headings, action)), rows.body);
  return { element: [h("div", { class: "scroll" }, table), rows.footer], show: rows.show };
}

function row(flavor, { units, currency, fits, price, onAdd }) {
  const { id, name, vcpus, ram, disk } = flavor;
  const noDisk = () => h("span", { class: "muted" }, t("flavor.no_disk"));
  const diskCell = () => cell("disk", formatSize(disk, units.disk), t("flavor.suffix.disk"));
  return h(
    "tr",
    { "data-flavor": id },
    h("th", { scope: "row", class: "col-name" }, h("bdi", {}, name), flavorId(flavor)),
    cell("vcpus", formatNumber(vcpus), t(vcpus === 1 ? "flavor.suffix.core" : "flavor.suffix.cores")),
    cell("ram", formatSize(ram, units.ram), t("flavor.suffix.ram")),
    disk === 0 ? cell("disk", noDisk()) : diskCell(),
    cell("fits", fitsText(fits)),
    onAdd && [cell("month", priceText(price, currency)), addCell(flavor, onAdd)],
  );
}

function flavorId({ id, name }) {
  const text = h("bdi", {}, id);
  const copy = copyButton(id, t("flavor.id_of", { name }), text);
  copy.dataset.focusKey = `copy-${id}`;
  return h("span", { class: "flavor-id muted" }, t("flavor.id"), " ", text, " ", copy);
}

function addCell(flavor, onAdd) {
  const label = t("flavors.add_name", { name: flavor.name });
  const button = { type: "button", "aria-label": label, "data-focus-key": `add-${flavor.id}`, onclick: () => onAdd(flavor) };
  return h("td", { class: "col-add" }, h("button", button, t("flavors.add")));
}

function fitsText(fits) {
  if (!fits) return unknown(fits);
  const { count, quotas } = fits;
  if (count === null) return t("quota.unlimited");
  const names = quotas.map((quota) => t(`quota.${quota}`)).join(t("list.comma"));
  const text = count === 0n ? t("flavors.fits_none") : t("flavors.fits_count", { count: formatNumber(count) });
  return [
    h("span", { class: `fits-count ${count === 0n ? "none" : ""}` }, text),
    h("span", { class: "cell-note muted" }, t("flavors.fits_limit", { names })),
  ];
}

function priceText(price, currency) {
  if (!price) return unknown(price);
  if (price.month === null) return h("span", { class: "no-price" }, t("estimate.no_price"));
  return [
    h("span", { "data-suffix": t("flavor.suffix.month", { currency }) }, roundedAmount(price.month, currency)),
    h("span", { class: "cell-note muted" }, t("flavors.per_hour", { amount: groupThousands(price.hour) })),
  ];
}

function unknown(value) {
  return h("span", { class: "muted" }, value === null ? t("flavors.unknown") : "…");
}

// The suffix replaces the column heading on narrow screens.
function cell(column, content, suffix = null) {
  return h("td", { class: `col-${column}`, "data-suffix": suffix }, content);
}

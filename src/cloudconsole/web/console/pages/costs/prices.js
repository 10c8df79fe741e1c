// The prices in force and to come.

import { exactAmount } from "../../components/amount.js";
import { dataTable } from "../../components/data_table.js";
import { h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { formatTime } from "../../core/time.js";
import { kindName } from "./kinds.js";

const UNITS = ["vcpu", "ram_gb", "gb"];

export function prices(items, info) {
  if (items.length === 0) return h("p", { class: "empty" }, t("prices.empty"));
  const section = (name, found) => [
    h("h3", {}, t(`prices.${name}`)),
    found.length === 0 ? h("p", { class: "empty" }, t(`prices.${name}.empty`)) : table(name, found, info),
  ];
  return [
    h("p", { class: "hint" }, t("prices.hint", { zone: info.timeZone })),
    section("in_force", items.filter((item) => item.in_force)),
    section("to_come", items.filter((item) => !item.in_force)),
  ];
}

function table(name, items, { currency }) {
  const columns = [
    ["kind", t("costs.kind"), (item) => kindName(item.res_type)],
    ["unit", t("prices.unit"), (item) => unitName(item, items)],
    ["node", t("costs.node"), (item) => (item.region === null ? t("prices.all") : h("bdi", {}, item.region))],
    // Only some clouds have types.
    items.some(({ type }) => type !== null) && [
      "type", t("prices.type"), (item) => (item.type === null ? t("prices.all") : h("bdi", {}, item.type)),
    ],
    ["price", t("prices.price", { currency }), (item) => exactAmount(item.price)],
    ["from", t("prices.from"), (item) => formatTime(item.start_at)],
    items.some((item) => item.end_at !== null) && [
      "until", t("prices.until"), (item) => (item.end_at === null ? t("prices.no_end") : formatTime(item.end_at)),
    ],
  ].filter(Boolean);
  const attributes = { price: { isNumber: true, isMain: true } };
  return dataTable({
    caption: t(`prices.${name}.caption`, { currency }),
    name: "price-table",
    columns: columns.map(([column, label]) => ({ name: column, label, ...attributes[column] })),
    rows: items.map((item) => columns.map(([, , content]) => content(item))),
  });
}

// An instance has a price of its own beside those of its cores and RAM, unless its type has one for all of it.
function unitName({ unit, res_type: kind, type }, items) {
  if (UNITS.includes(unit)) return t(`prices.unit.${unit}`);
  if (unit !== "each") return unit;
  if (kind === "loadbalance") return t("prices.unit.loadbalance");
  if (kind !== "instance") return t("prices.unit.each");
  const isBase = type === null && items.some((item) => item.res_type === kind && ["vcpu", "ram_gb"].includes(item.unit));
  return t(isBase ? "prices.unit.instance.base" : "prices.unit.instance");
}

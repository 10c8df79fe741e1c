// The prices in force and to come.

import { exactAmount } from "../../components/amount.js";
import { dataTable } from "../../components/data_table.js";
import { h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { formatTime } from "../../core/time.js";
import { kindName } from "./kinds.js";

const UNITS = ["each", "vcpu", "ram_gb", "gb"];

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
    ["unit", t("prices.unit"), (item) => (UNITS.includes(item.unit) ? t(`prices.unit.${item.unit}`) : item.unit)],
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

// What the resources of the current hour cost per hour, day, month and year, and how that is computed.

import { amount, currencyName } from "../../components/amount.js";
import { dataTable } from "../../components/data_table.js";
import { disclosure } from "../../components/disclosure.js";
import { h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { compare, sum } from "../../core/money.js";
import { kindName } from "./kinds.js";

const PERIODS = ["hour", "day", "month", "year"];

export function estimate(items, info, opened) {
  return [
    items.length === 0 ? h("p", { class: "empty" }, t("costs.empty")) : table(items, info),
    h("p", { class: "hint" }, t("costs.method", { zone: info.timeZone })),
    disclosure(opened, "cost-method", t("costs.method.more"), methodText(info)),
  ];
}

function table(items, { currency, monthDays: days }) {
  const amounts = (find) => PERIODS.map((period) => amount(find(period), currency));
  const sorted = items.toSorted((a, b) => compare(b.hour, a.hour));
  return dataTable({
    caption: t("costs.estimated.caption", { currency }),
    name: "estimate-table",
    columns: [
      { name: "kind", label: t("costs.kind") },
      ...PERIODS.map((period) => ({ name: period, label: t(`costs.${period}`, { days }), isNumber: true })),
    ],
    rows: sorted.map((item) => [kindName(item.res_type), ...amounts((period) => item[period])]),
    totals: [t("costs.total"), ...amounts((period) => sum(items.map((item) => item[period])))],
  });
}

function methodText({ currency }) {
  return ["currency", "once", "ram", "rounding", "no_bill"].map((part) =>
    h("p", {}, t(`costs.method.${part}`, { currency: currencyName(currency) })),
  );
}

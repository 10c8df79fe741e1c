// A month's cost in short: its corrections, and how it compares with the month before.

import { amountWithCurrency } from "../../components/amount.js";
import { h } from "../../core/dom.js";
import { language, t } from "../../core/i18n.js";
import { compare, difference, share } from "../../core/money.js";
import { daysInMonth, formatMonth } from "../../core/time.js";
import { isCorrection, total } from "./rows.js";
import { figure } from "./this_month.js";

// `costs` are all rows of the month, or null if they are not loaded completely. `bill` and `previous` are the bills of
// the month and of the one before, or null.
export function monthSummary(costs, { month, isCurrent, bill, previous, currency }) {
  const cost = costs === null ? (bill?.total ?? null) : total(costs);
  if (cost === null) return null;
  const corrections = costs?.filter(isCorrection) ?? [];
  const usage = costs?.filter((row) => !isCorrection(row)) ?? [];
  // The first panel of the page shows it.
  if (isCurrent && corrections.length === 0) return null;
  const label = isCurrent ? t("costs.so_far", { month: formatMonth(month) }) : formatMonth(month);
  const isComparable = !isCurrent && bill?.complete && previous?.complete && previous.total !== null;
  return [
    h(
      "dl",
      { class: "cost-figures" },
      figure("month", label, cost, currency),
      corrections.length > 0 && [
        figure("usage", t("costs.usage"), total(usage), currency),
        figure("corrections", t("costs.corrections"), total(corrections), currency),
      ],
      isComparable && changeFigure(cost, previous, month, currency),
    ),
    corrections.length > 0 && h("p", { class: "hint" }, t("costs.corrections.hint")),
  ];
}

function changeFigure(cost, previous, month, currency) {
  const change = difference(cost, previous.total);
  const isMore = compare(change, "0") > 0;
  const [days, previousDays] = [month, previous.bill_month].map(daysInMonth);
  return h(
    "div",
    { "data-figure": "change" },
    h("dt", {}, t("costs.compared", { month: formatMonth(previous.bill_month) })),
    h(
      "dd",
      {},
      h("span", { class: "nowrap" }, isMore && "+", amountWithCurrency(change, currency)),
      compare(previous.total, "0") > 0 && [" ", h("span", { class: "change-percent" }, percentText(change, previous.total))],
      days !== previousDays && h("span", { class: "days" }, t("costs.compared.days", { days, previous: previousDays })),
    ),
  );
}

function percentText(change, whole) {
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  const format = new Intl.NumberFormat(language(), { style: "percent", signDisplay: "exceptZero", ...digits });
  return t("costs.compared.percent", { percent: format.format(share(change, whole)).replace("-", "−") });
}

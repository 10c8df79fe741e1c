// The result of an estimate: its cost and whether the quotas allow it, and in detail what it needs of each quota.

import { roundedAmount } from "../../../components/amount.js";
import { disclosure } from "../../../components/disclosure.js";
import { h } from "../../../core/dom.js";
import { formatNumber, t } from "../../../core/i18n.js";
import { groupThousands } from "../../../core/money.js";
import { formatSize, toBigInt } from "../../../core/numbers.js";
import { itemName } from "./item_row.js";

const PERIODS = ["hour", "day", "month", "year"];
const OTHER_PERIODS = ["hour", "day", "year"];
const QUOTA_UNITS = { ram: "ram", gigabytes: "volume" };

// `notIncluded` says what the estimate leaves out, if anything.
export function estimateResult(estimate, { units, currency, monthDays, notIncluded }) {
  return [monthlyCost(estimate, currency, monthDays), verdict(estimate, units, notIncluded)];
}

export function estimateDetails(estimate, items, { units, currency, monthDays, opened }) {
  const note = items.some(({ flavor }) => flavor?.disk > 0) && h("p", { class: "hint" }, t("estimate.system_disk"));
  return [
    otherCosts(estimate, currency),
    disclosure(opened, "quota-use", t("estimate.quotas"), quotaTable(estimate.quotas, units), note),
    disclosure(opened, "exact-amounts", t("estimate.exact"), exactTable(estimate, items, currency, monthDays)),
  ];
}

// "The quotas allow this. 340.85 CNY per month"
export function summary(estimate, monthText, notIncluded) {
  return [verdictText(estimate, notIncluded), monthText, notIncluded].filter(Boolean).join(" ");
}

function verdictText({ fits }, notIncluded) {
  if (!fits) return t("estimate.does_not_fit");
  return t(notIncluded ? "estimate.rest_fits" : "estimate.fits");
}

function monthlyCost({ month }, currency, days) {
  if (month === null) return h("p", { class: "notice warning" }, t("estimate.no_total"));
  const amount = h("dd", {}, roundedAmount(month, currency), " ", h("span", { class: "currency" }, currency));
  return h("dl", { class: "estimate-costs per-month" }, h("div", {}, h("dt", {}, t("estimate.month", { days })), amount));
}

function otherCosts(estimate, currency) {
  if (estimate.month === null) return null;
  const amount = (period) => h("dd", {}, roundedAmount(estimate[period], currency));
  const cost = (period) => h("div", {}, h("dt", {}, t(`estimate.${period}`)), amount(period));
  return h("dl", { class: "estimate-costs" }, OTHER_PERIODS.map(cost));
}

function verdict(estimate, units, notIncluded) {
  const { fits, quotas } = estimate;
  const text = verdictText(estimate, notIncluded);
  const omission = notIncluded && h("p", {}, notIncluded);
  if (fits) {
    const [kind, mark] = notIncluded ? ["warning", "▲ "] : ["success", "✓ "];
    return h("div", { class: `notice ${kind} estimate-verdict` }, h("p", {}, mark, text), omission);
  }
  const lacking = quotas
    .filter((quota) => toBigInt(quota.lacking) > 0n)
    .map(({ quota, lacking }) => t(`estimate.over.${quota}`, { amount: quotaAmount(quota, lacking, units) }));
  return h("div", { class: "notice danger estimate-verdict" }, h("p", {}, "✖ ", text),
    h("p", {}, t("estimate.lacking_list", { list: lacking.join(t("list.comma")) })), omission);
}

// The quotas that the items use.
function quotaTable(quotas, units) {
  const heading = (column) => h("th", { scope: "col", class: column !== "quota" && "number" }, t(`estimate.column.${column}`));
  const row = ({ quota, free, needed, lacking }) => {
    const isLacking = toBigInt(lacking) > 0n;
    const format = (amount) => quotaAmount(quota, amount, units);
    return h(
      "tr",
      { "data-quota": quota },
      h("th", { scope: "row" }, t(`quota.${quota}`)),
      h("td", { class: "number" }, free === null ? t("quota.unlimited") : format(free)),
      h("td", { class: "number" }, format(needed)),
      h("td", { class: `number ${isLacking ? "lacking" : ""}` }, isLacking && "✖ ", format(lacking)),
    );
  };
  return h(
    "table",
    { class: "estimate-quotas" },
    h("caption", { class: "visually-hidden" }, t("quotas.title")),
    h("thead", {}, h("tr", {}, ["quota", "free", "needed", "lacking"].map(heading))),
    h("tbody", {}, quotas.filter(({ needed }) => toBigInt(needed) !== 0n).map(row)),
  );
}

function quotaAmount(quota, amount, units) {
  const unit = QUOTA_UNITS[quota];
  return unit && toBigInt(amount) !== 0n ? formatSize(amount, units[unit]) : formatNumber(toBigInt(amount));
}

function exactTable(estimate, items, currency, days) {
  const cell = (amount) => h("td", { class: "number" }, amount === null ? t("estimate.no_price") : groupThousands(amount));
  const row = (name, amounts) => h("tr", {}, h("th", { scope: "row" }, name), PERIODS.map((period) => cell(amounts[period])));
  const label = (item) => t("estimate.item", { count: formatNumber(item.count), name: itemName(item) });
  const heading = (period) => h("th", { scope: "col", class: "number" }, t(`estimate.${period}`, { days }));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": t("estimate.exact") },
    h(
      "table",
      {},
      h("caption", {}, t("estimate.currency", { currency })),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("estimate.column.item")), PERIODS.map(heading))),
      h("tbody", {}, items.map((item, index) => row(label(item), estimate.items[index]))),
      h("tfoot", {}, row(t("estimate.total"), estimate)),
    ),
  );
}

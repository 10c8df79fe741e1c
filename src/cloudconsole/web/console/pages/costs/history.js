// The costs of the last twelve months: bars, of which one can be selected for its details, and a table. Both show which
// part is corrections for earlier months. The current month has the outline of its forecast.

import { amount, amountWithCurrency } from "../../components/amount.js";
import { dataTable } from "../../components/data_table.js";
import { disclosure } from "../../components/disclosure.js";
import { h, replace } from "../../core/dom.js";
import { language, t } from "../../core/i18n.js";
import { compare, difference, share } from "../../core/money.js";
import { formatMonth, formatShortMonth } from "../../core/time.js";

// Tops of the scale, in powers of ten.
const STEPS = [10n, 12n, 15n, 20n, 25n, 30n, 40n, 50n, 60n, 80n, 100n];

// `forecast` is that of the current month, or null.
export function history({ bills, forecast }, { info, opened, selection }) {
  const current = bills.at(-1);
  const expected = forecast?.month === current?.bill_month && current?.total != null ? (forecast?.total ?? null) : null;
  return [
    chart(bills, expected, info.currency, selection),
    legend(bills, expected),
    disclosure(opened, "cost-table", t("costs.history.table"), table(bills, info.currency)),
  ];
}

function legend(bills, expected) {
  const part = (name, text) => [h("span", { class: `swatch ${name}` }), h("span", {}, text)];
  const isCorrected = (isMatch) => bills.some((bill) => hasCorrections(bill) && isMatch(bill.corrections));
  const entries = [
    bills.some(hasCorrections) && part("usage", t("costs.usage")),
    isCorrected((each) => !each.startsWith("-")) && part("correction", t("costs.corrections")),
    isCorrected((each) => each.startsWith("-")) && part("credit", t("costs.credits")),
    bills.some(({ total, complete }) => total !== null && !complete) && part("partial", t("costs.history.partial")),
    expected !== null && part("forecast", t("costs.forecast")),
  ].filter(Boolean);
  return entries.length > 0 && h("ul", { class: "legend hint" }, entries.map((content) => h("li", {}, content)));
}

// Consoles of an older version do not tell.
function hasCorrections({ corrections }) {
  return typeof corrections === "string" && compare(corrections, "0") !== 0;
}

function usageOf({ total, corrections }) {
  return difference(total, corrections);
}

function chart(bills, expected, currency, selection) {
  const current = bills.at(-1)?.bill_month;
  const readout = h("p", { class: "readout" });
  const totals = bills.flatMap((bill) => [bill.total, hasCorrections(bill) ? usageOf(bill) : null]);
  const scale = scaleFor([...totals, expected]);
  const forecastOf = ({ bill_month: month }) => (month === current ? expected : null);
  const textOf = (bill) => readoutText(bill, { currency, isCurrent: bill.bill_month === current, expected: forecastOf(bill) });
  const selected = () => bills.find(({ bill_month: month }) => month === (selection?.get(current) ?? current));
  const show = (bill) => replace(readout, bill && textOf(bill));
  const columns = bills.map((bill, index) => column(bill, index));

  function column(bill, index) {
    const month = bill.bill_month;
    const bars = bill.total === null ? unknownMark() : [outline(forecastOf(bill), scale.top), barOf(bill, scale.top)];
    const content = [
      h("span", { class: "visually-hidden" }, textOf(bill)),
      h("span", { class: "plot", "aria-hidden": "true" }, bars),
      h("span", { class: "month", "aria-hidden": "true" }, formatShortMonth(month)),
      h("span", { class: "year", "aria-hidden": "true" }, hasYear(month, index) && month.slice(0, 4)),
    ];
    const events = { onpointerenter: () => show(bill), onpointerleave: () => show(selected()) };
    if (!selection) return h("li", events, h("span", { class: "column" }, content));
    const focus = { onfocus: () => show(bill), onblur: () => show(selected()) };
    const choose = { onclick: () => selection.set(month, current) };
    return h("li", events, h("button", { type: "button", class: "column", "data-month": month, ...focus, ...choose }, content));
  }

  function markSelected() {
    for (const button of columns.map((each) => each.firstChild)) {
      button.setAttribute("aria-pressed", String(button.dataset.month === selected()?.bill_month));
    }
  }

  function select() {
    markSelected();
    show(selected());
  }

  if (selection) {
    select();
    selection.onChange(select);
  } else show(selected());
  return h(
    "div",
    { class: "cost-chart" },
    readout,
    h("div", { class: "plot-area" }, h("div", { class: "scale", "aria-hidden": "true" }, scale.labels), h("ul", {}, columns)),
  );
}

// Its height is the total, of which corrections are the upper part. Negative ones are what is missing to the usage.
function barOf(bill, top) {
  const bar = h("span", { class: `bar ${bill.complete ? "" : "partial"}` });
  bar.style.height = `${heightPercent(bill.total, top)}%`;
  if (!hasCorrections(bill)) return bar;
  const isCredit = bill.corrections.startsWith("-");
  const part = h("span", { class: isCredit ? "credit" : "correction" });
  const whole = isCredit ? usageOf(bill) : bill.total;
  if (isCredit) bar.style.height = `${heightPercent(whole, top)}%`;
  const size = isCredit ? difference("0", bill.corrections) : bill.corrections;
  part.style.height = `${Math.min(100, share(size, whole) * 100)}%`;
  bar.append(part);
  return bar;
}

function outline(expected, top) {
  if (expected === null) return null;
  const bar = h("span", { class: "bar forecast" });
  bar.style.height = `${heightPercent(expected, top)}%`;
  return bar;
}

// The first month and each January, but not December before January: there is no space for both.
function hasYear(month, index) {
  return month.endsWith("-01") || (index === 0 && !month.endsWith("-12"));
}

function unknownMark() {
  return h("span", { class: "unknown-mark" }, "?");
}

function readoutText(bill, { currency, isCurrent, expected }) {
  const month = formatMonth(bill.bill_month);
  if (bill.total === null) return t("costs.history.unknown", { month });
  const note = !bill.complete && [" ", h("span", { class: "muted" }, t("costs.history.partial.note"))];
  const parts = hasCorrections(bill) && [
    " ",
    h(
      "span",
      { class: "muted parts" },
      [t("costs.usage"), " ", amount(usageOf(bill), currency), t("list.comma")],
      [t("costs.corrections.short"), " ", amount(bill.corrections, currency)],
    ),
  ];
  const forecast = expected !== null && [
    " ",
    h("span", { class: "muted parts" }, "· ", t("costs.forecast"), " ", amount(expected, currency)),
  ];
  return [
    h("span", { class: "muted" }, t(isCurrent ? "costs.history.so_far" : "costs.history.month", { month })),
    " ",
    h("strong", {}, amountWithCurrency(bill.total, currency)),
    parts,
    note,
    forecast,
  ];
}

// Any cost is visible, however small.
function heightPercent(total, top) {
  return compare(total, "0") > 0 ? Math.max(0.8, share(total, top) * 100) : 0;
}

// A round amount at or above the highest one, and the labels of the axis: approximate, in short.
function scaleFor(totals) {
  const highest = totals.filter((total) => total !== null).reduce((a, b) => (compare(a, b) < 0 ? b : a), "0");
  const top = compare(highest, "0") > 0 ? roundUp(highest) : "1";
  // Four digits fit as they are.
  const notation = compare(top, "10000") < 0 ? "standard" : "compact";
  const { format } = new Intl.NumberFormat(language(), { notation, maximumSignificantDigits: 3 });
  const labels = [1, 0.5, 0].map((part) => h("span", {}, part === 0 ? "0" : format(Number(top) * part)));
  return { top, labels };
}

function roundUp(amount) {
  const [whole, fraction = ""] = amount.split(".");
  const digits = BigInt(whole + fraction);
  const power = digits.toString().length;
  // The two leading digits decide; the step has two digits as well.
  const unit = (step) => (power >= 2 ? step * 10n ** BigInt(power - 2) : (step + 9n) / 10n);
  const top = unit(STEPS.find((step) => unit(step) >= digits));
  const text = top.toString().padStart(fraction.length + 1, "0");
  return fraction === "" ? text : `${text.slice(0, -fraction.length)}.${text.slice(-fraction.length)}`;
}

function table(bills, currency) {
  const state = ({ total, complete }) =>
    t(total === null ? "costs.record.none" : complete ? "costs.record.complete" : "costs.record.partial");
  const isComplete = bills.every(({ complete }) => complete);
  const isSplit = bills.some(hasCorrections);
  const money = (bill, text) => (bill.total === null || text === undefined ? "" : amount(text, currency));
  return dataTable({
    caption: t("costs.history.caption", { currency }),
    columns: [
      { name: "month", label: t("costs.month_name") },
      ...(isSplit
        ? [
            { name: "usage", label: t("costs.usage"), isNumber: true },
            { name: "corrections", label: t("costs.corrections.short"), isNumber: true },
          ]
        : []),
      { name: "amount", label: t("costs.cost"), isNumber: true, isMain: true },
      ...(isComplete ? [] : [{ name: "record", label: t("costs.record") }]),
    ],
    rows: bills.toReversed().map((bill) => [
      formatMonth(bill.bill_month),
      ...(isSplit ? [money(bill, hasCorrections(bill) ? usageOf(bill) : bill.total), money(bill, bill.corrections)] : []),
      bill.total === null ? t("costs.unknown") : amount(bill.total, currency),
      ...(isComplete ? [] : [state(bill)]),
    ]),
  });
}

// The current month so far, and what it will cost if nothing changes. Also used by the overview.

import { amountWithCurrency } from "../../components/amount.js";
import { h } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { share } from "../../core/money.js";
import { formatMonth } from "../../core/time.js";

export function thisMonth(forecast, currency) {
  const { month, so_far: soFar, rest, total, hours_left: hours } = forecast;
  const hasForecast = total !== null && rest !== null;
  return [
    h(
      "dl",
      { class: "cost-figures" },
      figure("so-far", t("costs.so_far", { month: formatMonth(month) }), soFar, currency),
      figure("forecast", t("costs.forecast"), total, currency),
      figure("rest", t("costs.rest", { hours: formatNumber(hours) }), rest, currency),
    ),
    soFar !== null && hasForecast && progress(share(soFar, total)),
    recordNote(forecast),
    hasForecast && h("p", { class: "hint" }, t("costs.forecast.hint")),
  ];
}

export function figure(name, label, amount, currency) {
  const unknown = () => h("span", { class: "unknown" }, t("costs.unknown"));
  const content = amount === null ? unknown() : amountWithCurrency(amount, currency);
  return h("div", { "data-figure": name }, h("dt", {}, label), h("dd", {}, content));
}

// What is missing in the record of the month, in words; null if nothing is.
export function recordNote({ so_far: soFar, complete }) {
  if (soFar === null) return h("p", { class: "notice" }, t("costs.no_record"));
  return complete ? null : h("p", { class: "notice warning" }, t("costs.incomplete"));
}

// The numbers are in the text.
export function progress(part) {
  const fill = h("span", { class: "fill" });
  fill.style.width = `${Math.min(1, Math.max(0, part)) * 100}%`;
  return h("span", { class: "track", "aria-hidden": "true" }, fill);
}

// What this month has cost and will cost, or, on consoles without a record of costs, what runs now. The costs page has
// the rest.

import { h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { share, sum } from "../../core/money.js";
import { call, serviceInfo } from "../../core/session.js";
import { formatMonth } from "../../core/time.js";
import { figure, progress, recordNote } from "../costs/this_month.js";

const FORECAST = { action: "GetForecast", cli: ["costs", "forecast"] };
const ESTIMATE = { action: "GetConsumptionsEstimated", cli: ["costs"] };

let request = ESTIMATE;

// What returns the figures of the panel, for the commands that reproduce them.
export function costsRequest() {
  return request;
}

export async function loadCosts() {
  const info = await serviceInfo();
  request = (info.extensions ?? []).includes(FORECAST.action) ? FORECAST : ESTIMATE;
  return { data: await call(request.action), currency: info.currency };
}

export function costs({ data, currency }) {
  return [
    Array.isArray(data) ? presentFigures(data, currency) : monthFigures(data, currency),
    h("p", { class: "costs-link" }, h("a", { class: "button", href: "#/costs" }, t("costs.view"))),
  ];
}

function presentFigures(items, currency) {
  const now = (period) => figure(period, t(`costs.now.${period}`), sum(items.map((item) => item[period])), currency);
  return h("dl", { class: "cost-figures" }, now("hour"), now("month"));
}

function monthFigures(forecast, currency) {
  const { month, so_far: soFar, total } = forecast;
  return [
    h(
      "dl",
      { class: "cost-figures" },
      figure("so-far", t("costs.so_far", { month: formatMonth(month) }), soFar, currency),
      figure("forecast", t("costs.forecast"), total, currency),
    ),
    soFar !== null && total !== null && progress(share(soFar, total)),
    recordNote(forecast),
  ];
}

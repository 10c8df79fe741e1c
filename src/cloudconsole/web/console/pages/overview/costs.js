// What this month has cost and will cost, and what the resources cost now by kind. On consoles without a record of costs
// only the latter. The costs page has the rest.

import { amount } from "../../components/amount.js";
import { h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { compare, share, sum } from "../../core/money.js";
import { errorBox, toApiError } from "../../core/panel.js";
import { call, CallCancelled, serviceInfo } from "../../core/session.js";
import { formatMonth } from "../../core/time.js";
import { kindName } from "../costs/kinds.js";
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
  const has = (action) => (info.extensions ?? []).includes(action);
  request = has(FORECAST.action) ? FORECAST : ESTIMATE;
  const results = await Promise.allSettled([
    call(ESTIMATE.action),
    has(FORECAST.action) ? call(FORECAST.action) : null,
  ]);
  const [{ reason: failure } = {}, other] = results.filter(({ status }) => status === "rejected");
  // What was loaded is shown, if anything was.
  if (failure instanceof CallCancelled || (failure && (other || !has(FORECAST.action)))) throw failure;
  const [items, forecast] = results.map(({ value }) => value);
  return { items, forecast, failure, info, hasResources: has("GetConsumptionsByQuery") };
}

// `items` or `forecast` are undefined if they could not be loaded, and then `failure` is why.
export function costs({ items, forecast, failure, info, hasResources }, opened, reload) {
  const { currency } = info;
  return [
    forecast === null && presentFigures(items, currency),
    forecast && monthFigures(forecast, currency),
    failure && errorBox(toApiError(failure), reload),
    items?.length > 0 && kinds(items, info),
    h(
      "p",
      { class: "costs-link row" },
      h("a", { class: "button", href: "#/costs" }, t("costs.view")),
      hasResources && h("a", { class: "button", href: "#/costs?by=resource&at=month" }, t("costs.view.resources")),
    ),
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

// The highest first.
function kinds(items, { currency, monthDays: days }) {
  const sorted = items.toSorted((a, b) => compare(b.month, a.month));
  return [
    h("h3", { class: "costs-now" }, t("costs.now.kinds", { days })),
    h(
      "dl",
      { class: "cost-kinds" },
      sorted.map((item) => h("div", {}, h("dt", {}, kindName(item.res_type)), h("dd", {}, amount(item.month, currency)))),
    ),
  ];
}

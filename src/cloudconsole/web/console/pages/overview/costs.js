// What this month has cost and will cost, and what the present resources cost, in short. The costs page has the rest.

import { h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { share, sum } from "../../core/money.js";
import { call, serviceInfo } from "../../core/session.js";
import { formatMonth } from "../../core/time.js";
import { figure, progress, recordNote } from "../costs/this_month.js";

export async function loadCosts() {
  const info = await serviceInfo();
  const hasForecast = (info.extensions ?? []).includes("GetForecast");
  const [items, forecast] = await Promise.all([
    call("GetConsumptionsEstimated"),
    hasForecast ? call("GetForecast") : null,
  ]);
  return { items, forecast, currency: info.currency };
}

export function costs({ items, forecast, currency }) {
  const now = (period) => figure(period, t(`costs.now.${period}`), sum(items.map((item) => item[period])), currency);
  return [
    forecast && monthFigures(forecast, currency),
    h("dl", { class: "cost-figures" }, now("hour"), now("month")),
    h("p", { class: "costs-link" }, h("a", { class: "button", href: "#/costs" }, t("costs.view"))),
  ];
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

// The costs page: this month and its forecast, twelve months, the breakdown of one month, current costs and prices. What
// needs an extension that the console does not have is left out.

import { commandsButton } from "../components/commands.js";
import { refreshTools } from "../components/refresh.js";
import { urlState } from "../components/url_state.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call, serviceInfo } from "../core/session.js";
import { groupOf } from "./costs/breakdown.js";
import { estimate } from "./costs/estimate.js";
import { history } from "./costs/history.js";
import { monthSelection } from "./costs/month_selection.js";
import { monthDetails } from "./costs/month.js";
import { prices } from "./costs/prices.js";
import { rowsRequest } from "./costs/rows.js";
import { thisMonth } from "./costs/this_month.js";

export const page = { path: "costs", title: "nav.costs", render };

function render(route) {
  const state = urlState(route);
  const data = sharedData();
  const content = panel({
    name: "costs-page",
    load: serviceInfo,
    render: (info) => h("div", { class: "costs-grid" }, panels(info, state, data)),
  });
  if (state.get("at") === "month") content.loaded.then(() => showMonth(content, state));
  const head = h("header", { class: "page-head" }, h("h1", {}, t("nav.costs")),
    refreshTools(content, { forget: data.forget, tools: exactToggle(content, state) }));
  return [head, content];
}

function panels(info, state, data) {
  const has = (action) => (info.extensions ?? []).includes(action);
  const load = (action) => (has(action) ? () => data.load(action) : null);
  const bills = load("GetBillingReportList4NearlyYear");
  const forecast = load("GetForecast");
  const priceList = load("GetPrices");
  const selection = monthSelection(state, { bills, forecast, timeZone: info.timeZone });
  const hasMonths = has("GetConsumptionsByQuery") || has("GetCostExport");
  return [
    forecast &&
      panel({
        title: t("costs.this_month"),
        name: "this-month",
        isKept: true,
        tools: commandsButton(t("costs.this_month"), () => ({ action: "GetForecast", cli: ["costs", "forecast"] })),
        load: forecast,
        render: (data) => thisMonth(data, info.currency),
      }),
    bills &&
      panel({
        title: t("costs.history"),
        name: "cost-history",
        isKept: true,
        tools: commandsButton(t("costs.history"), () => ({ action: "GetBillingReportList4NearlyYear" })),
        load: () => withForecast(bills, forecast),
        render: (loaded, opened) => history(loaded, { info, opened, selection: hasMonths ? selection : null }),
      }),
    hasMonths &&
      panel({
        title: t("costs.of_month"),
        name: "cost-month",
        tools: has("GetConsumptionsByQuery") && monthCommands(selection, state),
        load: selection.months,
        render: (months) => monthDetails({ months, selection, state, info, has, bills, prices: priceList }),
      }),
    panel({
      title: t("costs.estimated"),
      name: "cost-estimate",
      isKept: true,
      tools: commandsButton(t("costs.estimated"), () => ({ action: "GetConsumptionsEstimated", cli: ["costs"] })),
      load: () => call("GetConsumptionsEstimated"),
      render: (items, opened) => estimate(items, info, opened),
    }),
    priceList &&
      panel({
        title: t("prices.title"),
        name: "cost-prices",
        isKept: true,
        tools: commandsButton(t("prices.title"), () => ({ action: "GetPrices", cli: ["prices"] })),
        load: priceList,
        render: (items) => prices(items, info),
      }),
  ];
}

// Of the forecast, the panel that shows it shows its errors.
async function withForecast(bills, forecast) {
  const [months, expected] = await Promise.allSettled([bills(), forecast?.()]);
  if (months.status === "rejected") throw months.reason;
  return { bills: months.value, forecast: expected.value ?? null };
}

// Links to the breakdown lead to its heading. Reload and Back restore the position instead.
function showMonth(content, state) {
  const heading = content.querySelector(".cost-month h2");
  if (!heading || !content.isConnected) return;
  state.set({ at: "" });
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  content.querySelector(".cost-month").scrollIntoView();
}

function monthCommands(selection, state) {
  return commandsButton(t("costs.of_month"), () => rowsRequest(selection.shown(), groupOf(state)));
}

// Show all amounts of the page with all decimals.
function exactToggle(content, state) {
  const apply = (isExact) => content.classList.toggle("is-exact", isExact);
  const box = h("input", { type: "checkbox" });
  const restore = () => {
    box.checked = state.get("exact") === "1";
    apply(box.checked);
  };
  box.addEventListener("change", () => {
    state.set({ exact: box.checked ? "1" : "" });
    apply(box.checked);
  });
  state.onReturn(restore);
  restore();
  return h("label", {}, box, h("span", {}, t("costs.exact")));
}

// Several panels use the same data. After a failure it is loaded again.
function sharedData() {
  const pending = new Map();

  function load(action) {
    if (!pending.has(action)) {
      const data = call(action).catch((error) => {
        if (pending.get(action) === data) pending.delete(action);
        throw error;
      });
      pending.set(action, data);
    }
    return pending.get(action);
  }

  return { load, forget: () => pending.clear() };
}

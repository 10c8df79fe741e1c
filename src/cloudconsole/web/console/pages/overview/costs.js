// Estimated costs by resource type: a bar chart for one period, a table of all periods, and how they are calculated.

import { announce } from "../../components/announce.js";
import { disclosure } from "../../components/disclosure.js";
import { h, newId, replace } from "../../core/dom.js";
import { formatNumber, language, t } from "../../core/i18n.js";
import { groupThousands, share, sum } from "../../core/money.js";

const PERIODS = ["hour", "day", "month", "year"];
const DEFAULT_PERIOD = "month";
const RESOURCE_TYPES = ["instance", "image", "loadbalance", "volume"];

export function costs(items, info, state, opened) {
  const method = disclosure(opened, "cost-method", t("costs.method"), methodText(info));
  if (items.length === 0) return [h("p", { class: "empty" }, t("costs.empty")), method];
  const chart = h("div", { class: "cost-chart" });
  const render = (period) => replace(chart, bars(items, info.currency, period));
  const onSelect = (period) => {
    state.set({ period });
    render(period);
    announce(chart.querySelector(".cost-total").textContent);
  };
  const selected = PERIODS.includes(state.get("period")) ? state.get("period") : DEFAULT_PERIOD;
  render(selected);
  return [
    periodSelector(selected, onSelect),
    chart,
    disclosure(opened, "cost-table", t("costs.table"), allPeriods(items, info.currency)),
    method,
  ];
}

function periodSelector(selected, onSelect) {
  const name = newId("period");
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", { class: "visually-hidden" }, t("costs.period")),
    PERIODS.map((period) => {
      const state = { checked: period === selected, onchange: () => onSelect(period) };
      const input = h("input", { type: "radio", name, value: period, ...state });
      return h("label", {}, input, h("span", {}, t(`costs.${period}`)));
    }),
  );
}

function bars(items, currency, period) {
  const total = sum(items.map((item) => item[period]));
  return [
    h(
      "p",
      { class: "cost-total" },
      h("span", { class: "muted" }, t(`costs.total.${period}`)),
      " ",
      h("strong", {}, money(total, currency)),
    ),
    h(
      "ul",
      { class: "cost-bars" },
      items.map((item) => {
        const part = share(item[period], total);
        const bar = h("span", { class: "fill" });
        bar.style.width = `max(${part * 100}%, 3px)`;
        return h(
          "li",
          { "data-type": item.res_type },
          h(
            "span",
            { class: "cost-head" },
            h("span", { class: "cost-type" }, typeName(item.res_type)),
            h("span", { class: "cost-amount" }, money(item[period], currency)),
          ),
          h("span", { class: "track", "aria-hidden": "true" }, bar),
          h("span", { class: "cost-share" }, percent(part)),
        );
      }),
    ),
  ];
}

function allPeriods(items, currency) {
  const cell = (amount) => h("td", { class: "number" }, groupThousands(amount));
  const row = (name, amounts) => h("tr", {}, h("th", { scope: "row" }, name), amounts.map(cell));
  const heading = (period) => h("th", { scope: "col", class: "number" }, t(`costs.${period}`));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": t("costs.table") },
    h(
      "table",
      {},
      h("caption", {}, t("costs.caption", { currency })),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("costs.type")), PERIODS.map(heading))),
      h("tbody", {}, items.map((item) => row(typeName(item.res_type), PERIODS.map((period) => item[period])))),
      h("tfoot", {}, row(t("costs.total"), PERIODS.map((period) => sum(items.map((item) => item[period]))))),
    ),
  );
}

function methodText({ currency, timeZone, monthDays }) {
  const multiple = (period) => h("li", {}, t(`costs.method.${period}`, { days: monthDays }));
  return [
    h("p", {}, t("costs.method.currency", { currency: currencyName(currency) })),
    h("p", {}, t("costs.method.hour", { zone: timeZone })),
    h("p", {}, t("costs.method.once")),
    h("ul", {}, ["day", "month", "year"].map(multiple)),
    h("p", {}, t("costs.method.exact")),
  ];
}

function money(amount, currency) {
  return [h("span", { class: "amount" }, groupThousands(amount)), " ", h("span", { class: "currency" }, currency)];
}

function typeName(type) {
  return RESOURCE_TYPES.includes(type) ? t(`resource.${type}`) : type;
}

function currencyName(code) {
  try {
    const name = new Intl.DisplayNames(language(), { type: "currency", fallback: "none" }).of(code);
    return name ? t("costs.currency", { code, name }) : code;
  } catch {
    return code;
  }
}

// Round, but show 100% only for the whole and 0% never.
function percent(part) {
  const thousandths = part === 1 ? 1000 : Math.min(999, Math.round(part * 1000));
  return thousandths === 0 ? t("costs.share.tiny") : t("costs.share", { percent: formatNumber(thousandths / 10, 1) });
}

// What the resources cost, by kind: one horizon at a time as bars, all of them as a table, and the rule behind.

import { h, newId, replace } from "../../core/dom.js";
import { language, number, t } from "../../core/i18n.js";
import { grouped, share, sum } from "../../core/money.js";
import { announce } from "../../components/announce.js";

const HORIZONS = ["hour", "day", "month", "year"];
const FIRST = "month";
const KINDS = ["instance", "image", "loadbalance", "volume"];

export function costs(items, about, choice) {
  const rule = h("details", { class: "rule" }, h("summary", {}, t("costs.rule")), ruleBehind(about));
  if (items.length === 0) return [h("p", { class: "nothing" }, t("costs.nothing")), rule];
  const chart = h("div", { class: "cost-chart" });
  const draw = (horizon) => replace(chart, drawn(items, about.currency, horizon));
  const choose = (horizon) => {
    choice.set({ per: horizon });
    draw(horizon);
    announce(chart.querySelector(".cost-total").textContent);
  };
  const chosen = HORIZONS.includes(choice.get("per")) ? choice.get("per") : FIRST;
  draw(chosen);
  return [
    horizons(chosen, choose),
    chart,
    h("details", { class: "all-costs" }, h("summary", {}, t("costs.all")), everything(items, about.currency)),
    rule,
  ];
}

function horizons(chosen, choose) {
  const name = newId("horizon");
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", { class: "visually-hidden" }, t("costs.horizon")),
    HORIZONS.map((horizon) => {
      const state = { checked: horizon === chosen, onchange: () => choose(horizon) };
      const input = h("input", { type: "radio", name, value: horizon, ...state });
      return h("label", {}, input, h("span", {}, t(`costs.${horizon}`)));
    }),
  );
}

function drawn(items, currency, horizon) {
  const total = sum(items.map((item) => item[horizon]));
  return [
    h(
      "p",
      { class: "cost-total" },
      h("span", { class: "quiet" }, t(`costs.total.${horizon}`)),
      " ",
      h("strong", {}, money(total, currency)),
    ),
    h(
      "ul",
      { class: "cost-bars" },
      items.map((item) => {
        const part = share(item[horizon], total);
        const bar = h("span", { class: "fill" });
        bar.style.width = `max(${part * 100}%, 3px)`;
        return h(
          "li",
          { "data-kind": item.res_type },
          h("span", { class: "cost-kind" }, kindName(item.res_type)),
          h("span", { class: "cost-amount" }, money(item[horizon], currency)),
          h("span", { class: "track", "aria-hidden": "true" }, bar),
          h("span", { class: "cost-share" }, percent(part)),
        );
      }),
    ),
  ];
}

function everything(items, currency) {
  const cell = (amount) => h("td", { class: "number" }, grouped(amount));
  const row = (name, amounts) => h("tr", {}, h("th", { scope: "row" }, name), amounts.map(cell));
  const heading = (horizon) => h("th", { scope: "col", class: "number" }, t(`costs.${horizon}`));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": t("costs.all") },
    h(
      "table",
      {},
      h("caption", {}, t("costs.caption", { currency })),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("costs.kind")), HORIZONS.map(heading))),
      h("tbody", {}, items.map((item) => row(kindName(item.res_type), HORIZONS.map((horizon) => item[horizon])))),
      h("tfoot", {}, row(t("costs.total"), HORIZONS.map((horizon) => sum(items.map((item) => item[horizon]))))),
    ),
  );
}

function ruleBehind({ currency, timeZone, monthDays }) {
  const multiple = (horizon) => h("li", {}, t(`costs.rule.${horizon}`, { days: monthDays }));
  return [
    h("p", {}, t("costs.rule.currency", { currency: currencyName(currency) })),
    h("p", {}, t("costs.rule.hour", { zone: timeZone })),
    h("p", {}, t("costs.rule.once")),
    h("ul", {}, ["day", "month", "year"].map(multiple)),
    h("p", {}, t("costs.rule.exact")),
  ];
}

function money(amount, currency) {
  return [h("span", { class: "amount" }, grouped(amount)), " ", h("span", { class: "currency" }, currency)];
}

function kindName(kind) {
  return KINDS.includes(kind) ? t(`kind.${kind}`) : kind;
}

function currencyName(code) {
  try {
    const name = new Intl.DisplayNames(language(), { type: "currency", fallback: "none" }).of(code);
    return name ? t("costs.currency", { code, name }) : code;
  } catch {
    return code;
  }
}

// Only all of it is 100 %, and only nothing would be 0 %.
function percent(part) {
  const thousandths = part === 1 ? 1000 : Math.min(999, Math.round(part * 1000));
  return thousandths === 0 ? t("costs.hardly") : t("costs.share", { percent: number(thousandths / 10) });
}

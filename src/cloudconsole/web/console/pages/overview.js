// The overview: quotas, costs, news and common URLs, each loaded for itself.

import { h, replace } from "../core/dom.js";
import { locale, t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call, consoleFacts } from "../core/session.js";
import { announce } from "../components/announce.js";
import { asked } from "../components/url_state.js";
import { costs } from "./overview/costs.js";
import { news } from "./overview/news.js";
import { quotas } from "./overview/quotas.js";
import { urls } from "./overview/urls.js";

export const page = { path: "", title: "nav.overview", show };

function show(place) {
  const choice = asked(place);
  const panels = [
    panel({
      title: t("quotas.title"),
      kind: "quotas",
      load: () => Promise.all([call("GetUsageLimits"), consoleFacts()]),
      show: ([usage, about]) => quotas(usage, about.units),
    }),
    panel({
      title: t("costs.title"),
      kind: "costs",
      load: () => Promise.all([call("GetConsumptionsEstimated"), consoleFacts()]),
      show: ([items, about]) => costs(items, about, choice),
    }),
    panel({
      title: t("news.title"),
      kind: "news",
      load: () => Promise.all([call("GetNews"), consoleFacts()]),
      show: ([items, about]) => news(items, about.timeZone),
    }),
    panel({ title: t("urls.title"), kind: "urls", load: () => call("GetUrlList"), show: urls }),
  ];
  const head = h("header", { class: "page-head" }, h("h1", {}, t("nav.overview")), refreshing(panels));
  return [head, h("div", { class: "overview" }, panels)];
}

// When all that is shown was asked for, and a button that asks anew.
function refreshing(panels) {
  const asOf = h("span", { class: "as-of" });
  const tell = (time) => replace(asOf, t("overview.as_of", { time }));
  const button = h("button", { type: "button", class: "refresh", onclick: refresh }, t("overview.refresh"));

  async function refresh() {
    button.disabled = true;
    const time = timeOfDay();
    const areFilled = await Promise.all(panels.map((each) => each.refill()));
    button.disabled = false;
    if (!button.isConnected) return;
    if (document.activeElement === document.body) button.focus({ preventScroll: true });
    // A panel that could not be filled says so itself.
    if (!areFilled.every(Boolean)) return;
    tell(time);
    announce(t("overview.refreshed"));
  }

  tell(timeOfDay());
  return h("div", { class: "page-tools" }, asOf, button);
}

function timeOfDay() {
  return new Intl.DateTimeFormat(locale(), { timeStyle: "medium", hourCycle: "h23" }).format(new Date());
}

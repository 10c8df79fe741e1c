// The overview page: quotas, costs, news and common URLs, each loaded independently.

import { announce } from "../components/announce.js";
import { urlState } from "../components/url_state.js";
import { h, replace } from "../core/dom.js";
import { locale, t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call, serviceInfo } from "../core/session.js";
import { costs } from "./overview/costs.js";
import { news } from "./overview/news.js";
import { quotas } from "./overview/quotas.js";
import { urls } from "./overview/urls.js";

export const page = { path: "", title: "nav.overview", render };

function render(route) {
  const state = urlState(route);
  const panels = [
    panel({
      title: t("quotas.title"),
      name: "quotas",
      load: () => Promise.all([call("GetUsageLimits"), serviceInfo()]),
      render: ([usage, info]) => quotas(usage, info.units),
    }),
    panel({
      title: t("costs.title"),
      name: "costs",
      load: () => Promise.all([call("GetConsumptionsEstimated"), serviceInfo()]),
      render: ([items, info]) => costs(items, info, state),
    }),
    panel({
      title: t("news.title"),
      name: "news",
      load: () => Promise.all([call("GetNews"), serviceInfo()]),
      render: ([items, info]) => news(items, info.timeZone),
    }),
    panel({ title: t("urls.title"), name: "urls", load: () => call("GetUrlList"), render: urls }),
  ];
  const head = h("header", { class: "page-head" }, h("h1", {}, t("nav.overview")), refreshTools(panels));
  return [head, h("div", { class: "overview" }, panels)];
}

// The time of the last refresh, and a button that reloads all panels.
function refreshTools(panels) {
  const updated = h("span", { class: "updated" });
  const showTime = (time) => replace(updated, t("overview.updated", { time }));
  const button = h("button", { type: "button", onclick: refresh }, t("overview.refresh"));

  async function refresh() {
    button.disabled = true;
    const time = timeOfDay();
    const results = await Promise.all(panels.map((each) => each.reload()));
    button.disabled = false;
    if (!button.isConnected) return;
    if (document.activeElement === document.body) button.focus({ preventScroll: true });
    // Panels show their own errors.
    if (!results.every(Boolean)) return;
    showTime(time);
    announce(t("overview.refreshed"));
  }

  showTime(timeOfDay());
  return h("div", { class: "page-tools" }, updated, button);
}

function timeOfDay() {
  return new Intl.DateTimeFormat(locale(), { timeStyle: "medium", hourCycle: "h23" }).format(new Date());
}

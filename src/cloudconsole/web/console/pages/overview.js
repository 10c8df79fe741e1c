// The overview page: quotas, costs, news and common URLs, each loaded independently.

import { announce } from "../components/announce.js";
import { commandsButton } from "../components/commands.js";
import { loadAnnouncements } from "../core/announcements.js";
import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { asOf, panel } from "../core/panel.js";
import { call, serviceInfo } from "../core/session.js";
import { costs, costsRequest, loadCosts } from "./overview/costs.js";
import { news } from "./overview/news.js";
import { quotaSkeleton, quotas } from "./overview/quotas.js";
import { urls } from "./overview/urls.js";

export const page = { path: "", title: "nav.overview", render };

function render() {
  const panels = [
    panel({
      title: t("quotas.title"),
      name: "quotas",
      isKept: true,
      tools: commandsButton(t("quotas.title"), () => ({ action: "GetUsageLimits", cli: ["usage"] })),
      load: () => Promise.all([call("GetUsageLimits"), serviceInfo()]),
      render: ([usage, info]) => quotas(usage, info.units),
      skeleton: quotaSkeleton,
    }),
    panel({
      title: t("costs.title"),
      name: "costs",
      isKept: true,
      tools: commandsButton(t("costs.title"), costsRequest),
      load: loadCosts,
      render: costs,
    }),
    panel({
      title: t("news.title"),
      name: "news",
      isKept: true,
      tools: commandsButton(t("news.title"), () => ({ action: "GetNews", cli: ["news"] })),
      load: loadAnnouncements,
      render: news,
    }),
    panel({
      title: t("urls.title"),
      name: "urls",
      isKept: true,
      tools: commandsButton(t("urls.title"), () => ({ action: "GetUrlList", cli: ["urls"] })),
      load: () => call("GetUrlList"),
      render: urls,
    }),
  ];
  const head = h("header", { class: "page-head" }, h("h1", {}, t("nav.overview")), refreshTools(panels));
  return [head, h("div", { class: "overview" }, panels)];
}

// When all panels were last loaded, and a button that reloads them.
function refreshTools(panels) {
  const updated = h("div", { class: "updated" });
  const button = h("button", { type: "button", onclick: refresh }, t("overview.refresh"));

  async function refresh() {
    button.disabled = true;
    const moment = new Date();
    const results = await Promise.all(panels.map((each) => each.reload()));
    button.disabled = false;
    if (!button.isConnected) return;
    if (document.activeElement === document.body) button.focus({ preventScroll: true });
    // Panels show their own errors, and when they were last loaded.
    if (!results.every(Boolean)) return;
    replace(updated, asOf(moment));
    announce(t("overview.refreshed"));
  }

  async function showFirstLoad() {
    const moment = new Date();
    const results = await Promise.all(panels.map((each) => each.loaded));
    if (results.some(Boolean)) replace(updated, asOf(moment));
  }

  showFirstLoad();
  return h("div", { class: "page-tools" }, updated, button);
}

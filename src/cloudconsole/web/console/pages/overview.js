// The overview page: quotas, costs, news and common URLs, each loaded independently.

import { commandsButton } from "../components/commands.js";
import { refreshTools } from "../components/refresh.js";
import { loadAnnouncements } from "../core/announcements.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
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
  const content = h("div", { class: "overview" }, panels);
  return [h("header", { class: "page-head" }, h("h1", {}, t("nav.overview")), refreshTools(content)), content];
}

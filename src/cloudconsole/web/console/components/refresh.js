// When the panels of a page were last loaded, and a button that reloads them.

import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { asOf, panelsIn } from "../core/panel.js";
import { announce } from "./announce.js";

// `content` is the panels, or contains them. `forget` is called before they are reloaded.
export function refreshTools(content, { forget = () => {}, tools = [] } = {}) {
  const updated = h("div", { class: "updated" });
  const button = h("button", { type: "button", onclick: refresh }, t("page.refresh"));

  async function refresh() {
    button.disabled = true;
    forget();
    const moment = new Date();
    const results = await Promise.all(panelsIn(content).map((each) => each.reload()));
    button.disabled = false;
    if (!button.isConnected) return;
    if (document.activeElement === document.body) button.focus({ preventScroll: true });
    // Panels show their own errors, and when they were last loaded.
    if (!results.every(Boolean)) return;
    replace(updated, asOf(moment));
    announce(t("page.refreshed"));
  }

  async function showFirstLoad() {
    const moment = new Date();
    const results = await firstLoads(content);
    if (results.some(Boolean)) replace(updated, asOf(moment));
  }

  showFirstLoad();
  return h("div", { class: "page-tools" }, updated, tools, button);
}

// A panel that has been loaded may consist of others.
async function firstLoads(content) {
  const loads = () => panelsIn(content).map((each) => each.loaded);
  let started;
  let results;
  do {
    started = loads();
    results = await Promise.all(started);
  } while (loads().some((each) => !started.includes(each)));
  return results;
}

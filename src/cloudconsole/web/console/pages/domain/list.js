// The tenant's domains, searchable by name or ID. Further pages are loaded in the background, so that the search covers
// all domains, up to a bound.

import { announce } from "../../components/announce.js";
import { batches } from "../../components/batches.js";
import { urlState } from "../../components/url_state.js";
import { h, newId, replace } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { errorBox } from "../../core/panel.js";
import { CallCancelled, call } from "../../core/session.js";
import { enabledBadge } from "./detail.js";
import { valueText } from "./terms.js";

// The most that GetDomains returns at once.
export const PAGE_SIZE = 1000;
// How many are loaded before the reader is asked.
const BOUND = 10_000;
const DEBOUNCE_MS = 250;
// Fewer domains are seen at a glance.
const SEARCH_FROM = 9;
const COLUMNS = ["domainName", "domainId", "enabled", "status", "serviceType"];

export function domainList(firstPage, route) {
  if (firstPage.length === 0) return h("p", { class: "card empty" }, t("domain.empty"));
  const state = urlState(route);
  const domains = [...firstPage];
  const rows = batches(domainRow);
  const count = h("p", { class: "count muted" });
  const notice = h("div", { class: "list-notice", tabindex: "-1" });
  const noResults = h("p", { class: "empty" });
  let search = state.get("search");
  let isComplete = firstPage.length < PAGE_SIZE;
  let timer = null;
  const inputId = newId("search");
  const verbatim = { autocomplete: "off", autocapitalize: "none", spellcheck: "false" };
  const input = h("input", { type: "search", id: inputId, value: search, oninput: handleInput, ...verbatim });
  const table = domainTable(rows.body);
  const openLink = h("a", {});

  function matches() {
    const text = search.toLowerCase();
    return domains.filter(
      ({ domainName, domainId }) => domainName.toLowerCase().includes(text) || domainId.toLowerCase().includes(text),
    );
  }

  // The rows shown so far stay when more domains have been loaded.
  function render({ extends: isExtended = false } = {}) {
    const found = matches();
    if (isExtended) rows.extend(found);
    else rows.show(found);
    table.hidden = found.length === 0;
    replace(noResults, found.length === 0 && t("domain.no_results"));
    noResults.hidden = found.length > 0;
    const values = { count: formatNumber(found.length), total: formatNumber(domains.length) };
    replace(count, t(search ? "domain.count.filtered" : "domain.count", values));
    openLink.hidden = search === "" || domains.some(({ domainId }) => domainId === search);
    openLink.href = detailAddress(search);
    replace(openLink, t("domain.open_id", { id: search }));
  }

  async function loadUntil(bound) {
    const hadFocus = notice.contains(document.activeElement);
    replace(notice, h("p", { class: "muted" }, t("domain.loading")));
    try {
      while (!isComplete && domains.length < bound) {
        const marker = domains.at(-1).domainId;
        const page = await call("GetDomains", { limit: PAGE_SIZE, marker });
        domains.push(...page);
        isComplete = page.length < PAGE_SIZE;
        render({ extends: true });
      }
      replace(notice, !isComplete && moreExist(bound));
      announce(count.textContent);
    } catch (error) {
      if (error instanceof CallCancelled) return;
      replace(notice, moreExist(), errorBox(error, () => loadUntil(bound)));
    } finally {
      // The button is gone.
      if (hadFocus && document.activeElement === document.body) notice.focus();
    }
  }

  // What the search covers, a link to a domain that is not loaded and, unless loading failed, a button to load more.
  function moreExist(bound) {
    const load = () => loadUntil(bound + BOUND);
    const label = t("domain.load_more", { count: formatNumber(BOUND) });
    const text = h("span", {}, t("domain.more_exist", { count: formatNumber(domains.length) }));
    return h("p", { class: "row" }, text, bound && h("button", { type: "button", onclick: load }, label), openLink);
  }

  function handleInput() {
    search = input.value.trim().toWellFormed();
    render();
    clearTimeout(timer);
    timer = setTimeout(() => {
      // After navigating away, the URL belongs to another page.
      if (!input.isConnected) return;
      state.set({ search });
      announce(count.textContent);
    }, DEBOUNCE_MS);
  }

  // Enter opens the only match, or the domain whose ID was typed.
  function handleSubmit(event) {
    event.preventDefault();
    const found = matches();
    const target = found.length === 1 ? found[0] : found.find(({ domainId }) => domainId === search);
    if (!target) return;
    clearTimeout(timer);
    state.set({ search });
    location.hash = detailAddress(target.domainId);
  }

  render();
  if (!isComplete) loadUntil(BOUND);
  const label = h("label", { for: inputId }, t("domain.search"));
  const hasSearch = search !== "" || firstPage.length >= SEARCH_FROM;
  const form = h("form", { class: "search", role: "search", onsubmit: handleSubmit }, label, input, count);
  return h("section", { class: "card domain-list" }, hasSearch ? form : count, notice, noResults, table, rows.footer);
}

function domainTable(body) {
  const headings = COLUMNS.map((column) => h("th", { scope: "col", class: `col-${column}` }, t(`domain.${column}`)));
  const caption = h("caption", { class: "visually-hidden" }, t("domain.all"));
  return h("table", {}, caption, h("thead", {}, h("tr", {}, headings)), body);
}

function domainRow(domain) {
  const text = (column) => {
    const value = valueText(column, domain[column]) ?? "";
    return h("td", { class: `col-${column}` }, h("bdi", {}, String(value)));
  };
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "col-domainName" },
      h("a", { href: detailAddress(domain.domainId) }, h("bdi", {}, domain.domainName))),
    text("domainId"),
    h("td", { class: "col-enabled" }, enabledBadge(domain.enabled)),
    text("status"),
    text("serviceType"),
  );
}

function detailAddress(domainId) {
  return `#/domain/${encodeURIComponent(domainId)}`;
}

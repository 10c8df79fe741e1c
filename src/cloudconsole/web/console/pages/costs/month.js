// The costs of one month: which month, downloads, and the breakdown.

import { announce } from "../../components/announce.js";
import { roundedText } from "../../components/amount.js";
import { h, newId, replace } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { panel } from "../../core/panel.js";
import { CallCancelled } from "../../core/session.js";
import { addMonths, formatMonth } from "../../core/time.js";
import { breakdown } from "./breakdown.js";
import { downloadButtons } from "./download.js";
import { PAGE, isGap, loadRows, total } from "./rows.js";

export function monthDetails({ months, selection, state, info, has, bills, prices }) {
  const current = months.at(-1);
  const month = () => selection.get(current);
  const future = selection.future(current);
  const notice = h("div", {}, future !== null && h("p", { class: "notice" }, t("costs.future", { month: formatMonth(future) })));
  const select = monthSelect(months, month(), (chosen) => selection.set(chosen, current));
  const download = has("GetCostExport") && downloadButtons(month());
  const slot = has("GetConsumptionsByQuery") && h("div", { class: "breakdown-slot" });
  let latest = null;

  // Until a month is loaded, the one before stays, so that nothing moves.
  async function show() {
    const token = {};
    latest = token;
    const shown = month();
    const isCurrent = () => latest === token && slot.isConnected;
    let data = null;
    const next = panel({
      name: "breakdown",
      isKept: true,
      keptAs: `breakdown ${shown}`,
      load: async () => (data = await loadMonth(shown, { bills, prices, isOver: shown !== current }, () => latest === token)),
      render: (loaded) => {
        // A download that failed when the console could not be reached.
        if (download) download.clearError();
        return breakdown(loaded, { month: shown, isCurrent: shown === current, info, state });
      },
    });
    if (!slot.hasChildNodes()) replace(slot, next);
    slot.setAttribute("aria-busy", "true");
    const isLoaded = await next.loaded;
    if (latest !== token) return null;
    slot.removeAttribute("aria-busy");
    replace(slot, next);
    if (download && isLoaded) download.show(shown, data.isComplete && data.items.every(isGap));
    return isLoaded && isCurrent() ? { month: shown, items: data.items } : null;
  }

  selection.onChange(async (chosen) => {
    if (!select.isConnected) return;
    select.value = chosen;
    replace(notice);
    if (download) download.show(chosen);
    const loaded = slot && (await show());
    if (loaded) {
      const amount = `${roundedText(total(loaded.items), info.currency)} ${info.currency}`;
      announce(t("costs.month.loaded", { month: formatMonth(loaded.month), amount }));
    }
  });
  if (slot) show();
  const id = newId("month");
  select.id = id;
  return [
    notice,
    h(
      "div",
      { class: "month-tools" },
      h("div", { class: "row" }, h("label", { for: id }, t("costs.month_name")), select),
      download && download.buttons,
    ),
    download && download.status,
    slot,
  ];
}

// Newest first. Not named, so that the page does not take it for text that was typed.
function monthSelect(months, selected, onSelect) {
  const option = (month) => h("option", { value: month, selected: month === selected }, formatMonth(month));
  return h("select", { onchange: ({ target }) => onSelect(target.value) }, months.toReversed().map(option));
}

async function loadMonth(month, { bills, prices, isOver }, isCurrent) {
  const [rows, found, known] = await Promise.all([loadRows(month, [], isCurrent), succeeded(bills), succeeded(prices)]);
  const before = addMonths(month, -1);
  const [bill, previous] = [month, before].map((each) => found.find(({ bill_month: of }) => of === each) ?? null);
  // Resources are compared in months that are over, unless there are very many.
  const isComparable = isOver && bill?.complete && previous?.complete && rows.items.length < PAGE;
  const rowsBefore = isComparable ? await succeeded(() => loadRows(before, [], isCurrent)) : [];
  return { ...rows, bill, previous, prices: known, itemsBefore: rowsBefore.isComplete ? rowsBefore.items : null };
}

// Panels that need the data show its errors. The month is shown without what it is only compared with.
async function succeeded(load) {
  try {
    return load ? await load() : [];
  } catch (error) {
    if (error instanceof CallCancelled) throw error;
    return [];
  }
}

// Table rows in batches: thousands at once would make the page slow.

import { h, replace } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";

const BATCH = 100;

// Rows for `items`, made by `makeRow`, in `body`; `footer` says how many are shown and has a button for more.
export function batches(makeRow, attributes = {}) {
  const body = h("tbody", attributes);
  const footer = h("div", { class: "show-more" });
  let items = [];
  let limit = BATCH;

  function addRows() {
    body.append(...items.slice(body.rows.length, limit).map(makeRow));
    const next = Math.min(BATCH, items.length - body.rows.length);
    const button = () => h("button", { type: "button", onclick: showMore }, t("list.more", { count: formatNumber(next) }));
    const values = { count: formatNumber(body.rows.length), total: formatNumber(items.length) };
    replace(footer, next > 0 && [h("span", {}, t("list.shown", values)), button()]);
  }

  // Move the focus from the button to the first new row.
  function showMore() {
    const first = body.rows.length;
    limit = first + BATCH;
    addRows();
    const cell = body.rows[first].cells[0];
    cell.tabIndex = -1;
    cell.focus();
  }

  return {
    body,
    footer,
    // Replace the rows. The number shown is kept on request.
    show(newItems, { keepLimit = false } = {}) {
      items = newItems;
      if (!keepLimit) limit = BATCH;
      replace(body);
      addRows();
    },
    // Add to the rows: the items shown so far are the first ones of `newItems`.
    extend(newItems) {
      items = newItems;
      addRows();
    },
  };
}

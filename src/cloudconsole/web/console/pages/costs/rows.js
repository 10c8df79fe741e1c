// The rows of GetConsumptionsByQuery for a month, and their sums.

import { invalidResponse } from "../../core/api.js";
import { compare, sum } from "../../core/money.js";
import { call, CallCancelled } from "../../core/session.js";
import { daysInMonth } from "../../core/time.js";

export const PAGE = 1000;
// How many pages are loaded at a time. More would be slow and use much memory.
const PAGES = 10;

// The next rows after the given ones, page by page; {items, isComplete} has all so far.
export async function loadRows(month, items, isCurrent) {
  const found = [...items];
  for (let page = 0; page < PAGES; page += 1) {
    if (!isCurrent()) throw new CallCancelled();
    const marker = found.length === 0 ? {} : { marker: found.at(-1).id };
    const next = await call("GetConsumptionsByQuery", { ...daysOf(month), limit: PAGE, ...marker });
    if (next.length > 0 && next.at(-1).id === found.at(-1)?.id) throw invalidResponse({ code: 200 });
    found.push(...next);
    if (next.length < PAGE) return { items: found, isComplete: true };
  }
  return { items: found, isComplete: false };
}

// How to get the rows outside the page, for commands.
export function rowsRequest(month, by) {
  const { start_at: first, end_at: last } = daysOf(month);
  return {
    action: "GetConsumptionsByQuery",
    fields: { start_at: first, end_at: last, limit: PAGE },
    cli: ["costs", "--from", first, "--to", last, "--by", by],
  };
}

function daysOf(month) {
  return { start_at: `${month}-01`, end_at: `${month}-${daysInMonth(month)}` };
}

export function isGap(item) {
  return item.res_type === "gap";
}

// A later change of hours of closed months.
export function isCorrection(item) {
  return item.billing_type === "correction";
}

export function total(items) {
  return sum(items.map((item) => item.amount));
}

const KEYS = {
  kind: (item) => item.res_type,
  node: (item) => item.region,
  // A correction may be for no single resource.
  resource: (item) => JSON.stringify(item.res_id === "" ? ["", item.res_type] : [item.res_id]),
};

export const GROUPS = Object.keys(KEYS);

// The sums of each group, the highest first: {key, item, rows, amount, usage, corrections, nodes}, where `item` is the last of
// its rows, and `usage` and `corrections` add up to `amount`.
export function groupRows(items, by) {
  const groups = new Map();
  for (const item of items) {
    const key = KEYS[by](item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return [...groups]
    .map(([key, rows]) => ({
      key,
      item: rows.at(-1),
      rows,
      amount: total(rows),
      usage: total(rows.filter((row) => !isCorrection(row))),
      corrections: total(rows.filter(isCorrection)),
      nodes: [...new Set(rows.map((row) => row.region).filter(Boolean))],
    }))
    .sort((a, b) => compare(b.amount, a.amount));
}

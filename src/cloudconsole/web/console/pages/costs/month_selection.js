// The month whose costs are shown in detail, for the parts of the page that show or change it. It is in the URL; without
// one it is the current month.

import { CallCancelled } from "../../core/session.js";
import { addMonths } from "../../core/time.js";

const MONTH = /^(19[7-9]\d|[2-8]\d{3}|9[0-8]\d{2}|99[0-8]\d|999[0-8])-(0[1-9]|1[0-2])$/;
const MONTHS = 12;

export function monthSelection(state, { bills, forecast, timeZone }) {
  const listeners = new Set();
  let current = null;
  let shown = null;
  const inUrl = () => (MONTH.test(state.get("month")) ? state.get("month") : null);
  const monthUpTo = (latest) => (inUrl() === null || inUrl() > latest ? latest : inUrl());

  // The months to choose from, oldest first.
  async function months() {
    const known = await recentMonths();
    current = known.at(-1);
    shown = monthUpTo(current);
    const chosen = inUrl();
    return chosen === null || chosen > current || known.includes(chosen) ? known : [...known, chosen].sort();
  }

  // The console knows its current month best: its clock may differ from that of this computer.
  async function recentMonths() {
    const months = await succeeded(bills, (data) => data.map(({ bill_month: month }) => month));
    if (months?.length) return months;
    const current = await succeeded(forecast, ({ month }) => month);
    return monthsUpTo(current ?? monthOf(new Date(), timeZone));
  }

  function show(month) {
    shown = month;
    for (const listener of listeners) listener(month);
  }

  state.onReturn(() => {
    if (current !== null && monthUpTo(current) !== shown) show(monthUpTo(current));
  });

  return {
    months,
    // A month that has not begun yet has no costs: the current one is shown.
    get: monthUpTo,
    // A later month than the current one that is in the URL, or null.
    future: (latest) => (inUrl() > latest ? inUrl() : null),
    // By this computer's clock until the console's current month is known.
    shown: () => monthUpTo(current ?? monthOf(new Date(), timeZone)),
    set(month, current) {
      state.push({ month: month === current ? "" : month });
      show(month);
    },
    onChange: (listener) => void listeners.add(listener),
  };
}

// Panels that need the data show its errors.
async function succeeded(load, read) {
  try {
    return load && read(await load());
  } catch (error) {
    if (error instanceof CallCancelled) throw error;
    return null;
  }
}

function monthsUpTo(month) {
  return Array.from({ length: MONTHS }, (_, index) => addMonths(month, index - MONTHS + 1));
}

function monthOf(moment, timeZone) {
  try {
    const parts = new Intl.DateTimeFormat("en", { year: "numeric", month: "2-digit", timeZone }).formatToParts(moment);
    const part = (type) => parts.find((each) => each.type === type).value;
    return `${part("year")}-${part("month")}`;
  } catch {
    // The browser does not know the time zone.
    return moment.toISOString().slice(0, 7);
  }
}

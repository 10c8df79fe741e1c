// The month whose costs are shown in detail, for the parts of the page that show or change it. It is in the URL; without
// one it is the current month.

import { CallCancelled } from "../../core/session.js";

const MONTH = /^(19[7-9]\d|[2-8]\d{3}|9[0-8]\d{2}|99[0-8]\d|999[0-8])-(0[1-9]|1[0-2])$/;
const MONTHS = 12;

export function monthSelection(state, { bills, forecast, timeZone }) {
  const listeners = new Set();
  let current = null;
  const inUrl = () => (MONTH.test(state.get("month")) ? state.get("month") : null);

  // The months to choose from, oldest first.
  async function months() {
    const known = await recentMonths();
    current = known.at(-1);
    return inUrl() === null || known.includes(inUrl()) ? known : [...known, inUrl()].sort();
  }

  // The console knows its current month best: its clock may differ from that of this computer.
  async function recentMonths() {
    const months = await succeeded(bills, (data) => data.map(({ bill_month: month }) => month));
    if (months?.length) return months;
    const current = await succeeded(forecast, ({ month }) => month);
    return monthsUpTo(current ?? monthOf(new Date(), timeZone));
  }

  return {
    months,
    // Null for the current month.
    get: inUrl,
    // By this computer's clock until the console's current month is known.
    shown: () => inUrl() ?? current ?? monthOf(new Date(), timeZone),
    set(month, current) {
      state.set({ month: month === current ? "" : month });
      for (const listener of listeners) listener(month);
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
  const [year, number] = month.split("-").map(Number);
  const last = year * 12 + number - 1;
  return Array.from({ length: MONTHS }, (_, index) => {
    const each = last - MONTHS + 1 + index;
    return `${Math.floor(each / 12)}-${String((each % 12) + 1).padStart(2, "0")}`;
  });
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

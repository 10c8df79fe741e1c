// Exact integers and sizes, formatted for the page's language.

import { formatNumber } from "./i18n.js";

// Convert an integer of the API; one too large for a JavaScript number arrives as raw JSON or text.
export function toBigInt(value) {
  return BigInt(JSON.isRawJSON?.(value) ? value.rawJSON : value);
}

const LARGER_UNIT = { MB: "GB" };
const FACTOR = 1024n;
const QUARTER = FACTOR / 4n;
export const NO_BREAK_SPACE = "\u00a0";

// Format a size without rounding: megabytes become gigabytes only if they are a multiple of a quarter gigabyte.
export function formatSize(value, unit) {
  const amount = toBigInt(value);
  if (!Object.hasOwn(LARGER_UNIT, unit) || amount < FACTOR || amount % QUARTER !== 0n) {
    return `${formatNumber(amount)}${NO_BREAK_SPACE}${unit}`;
  }
  const fraction = { 0: "", 1: ".25", 2: ".5", 3: ".75" }[(amount % FACTOR) / QUARTER];
  return `${formatNumber(amount / FACTOR)}${fraction}${NO_BREAK_SPACE}${LARGER_UNIT[unit]}`;
}

// Whole numbers and sizes, exact however large, as people of the page's language write them.

import { number } from "./i18n.js";

// The interface's whole number: one that a browser's own numbers cannot hold comes as it was written.
export function whole(value) {
  return BigInt(JSON.isRawJSON?.(value) ? value.rawJSON : value);
}

const LARGER = { MB: "GB" };
const STEP = 1024n;
const QUARTER = STEP / 4n;

// A size with its unit, exact: megabytes that make whole gigabytes and quarters are told as such, others as they are.
export function size(value, unit) {
  const amount = whole(value);
  if (!Object.hasOwn(LARGER, unit) || amount < STEP || amount % QUARTER !== 0n) return `${number(amount)} ${unit}`;
  const part = { 0: "", 1: ".25", 2: ".5", 3: ".75" }[(amount % STEP) / QUARTER];
  return `${number(amount / STEP)}${part} ${LARGER[unit]}`;
}

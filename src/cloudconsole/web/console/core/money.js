// Amounts as the text they come in: added and compared digit by digit, never as a browser's inexact numbers.

const DECIMALS = 9;

function billionths(amount) {
  const [, sign, whole, part = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount);
  const digits = BigInt(whole + part.padEnd(DECIMALS, "0").slice(0, DECIMALS));
  return sign ? -digits : digits;
}

function written(units) {
  const digits = units.toString().padStart(DECIMALS + 1, "0");
  const part = digits.slice(-DECIMALS).replace(/0+$/, "").padEnd(2, "0");
  return `${digits.slice(0, -DECIMALS)}.${part}`;
}

// The exact sum, with at least two decimals, as the interface writes amounts.
export function sum(amounts) {
  return written(amounts.map(billionths).reduce((total, each) => total + each, 0n));
}

// What part of a whole an amount is, for drawing only.
export function share(amount, whole) {
  const all = billionths(whole);
  return all === 0n ? 0 : Number((billionths(amount) * 1_000_000n) / all) / 1_000_000;
}

// An amount with its thousands set apart, all of its digits kept.
export function grouped(amount) {
  const [whole, part] = amount.split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${part}`;
}

// Amounts as the text they come in: added and divided digit by digit, never as a browser's inexact numbers.

// An amount as whole units of its last decimal: {digits: 12345n, places: 3} is 12.345.
function exact(amount) {
  const [, sign, whole, part = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? unreadable(amount);
  return { digits: BigInt(sign + whole + part), places: part.length };
}

function unreadable(amount) {
  throw new TypeError(`not an amount: ${amount}`);
}

function scaled({ digits, places }, wanted) {
  return digits * 10n ** BigInt(wanted - places);
}

function written(digits, places) {
  const sign = digits < 0n ? "-" : "";
  const text = (digits < 0n ? -digits : digits).toString().padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  const part = text.slice(text.length - places).replace(/0+$/, "").padEnd(2, "0");
  return `${sign}${whole}.${part}`;
}

// The exact sum, with at least two decimals and as many as it needs, as the interface writes amounts.
export function sum(amounts) {
  const each = amounts.map(exact);
  const places = Math.max(0, ...each.map((amount) => amount.places));
  return written(each.reduce((total, amount) => total + scaled(amount, places), 0n), places);
}

// What part of a whole an amount is, for drawing only.
export function share(amount, whole) {
  const [one, all] = [exact(amount), exact(whole)];
  const places = Math.max(one.places, all.places);
  const total = scaled(all, places);
  return total === 0n ? 0 : Number((scaled(one, places) * 1_000_000n) / total) / 1_000_000;
}

// An amount with its thousands set apart, as both languages do it, all of its digits kept.
export function grouped(amount) {
  const [whole, part] = amount.split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? apart : `${apart}.${part}`;
}

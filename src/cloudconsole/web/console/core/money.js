// Exact decimal arithmetic on amounts, which the API sends as text.

// 12.345 becomes {digits: 12345n, places: 3}.
function parseAmount(amount) {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount);
  if (match === null) throw new TypeError(`not an amount: ${amount}`);
  const [, sign, whole, fraction = ""] = match;
  return { digits: BigInt(sign + whole + fraction), places: fraction.length };
}

function rescale({ digits, places }, targetPlaces) {
  return digits * 10n ** BigInt(targetPlaces - places);
}

function formatAmount(digits, places) {
  const sign = digits < 0n ? "-" : "";
  const text = (digits < 0n ? -digits : digits).toString().padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  const fraction = text.slice(text.length - places).replace(/0+$/, "").padEnd(2, "0");
  return `${sign}${whole}.${fraction}`;
}

// The exact sum in the API's format: at least two decimals, no trailing zeros beyond them.
export function sum(amounts) {
  const parsed = amounts.map(parseAmount);
  const places = Math.max(0, ...parsed.map((amount) => amount.places));
  return formatAmount(parsed.reduce((total, amount) => total + rescale(amount, places), 0n), places);
}

// An amount as a fraction of a total, approximate, for charts only.
export function share(amount, total) {
  const [part, whole] = [parseAmount(amount), parseAmount(total)];
  const places = Math.max(part.places, whole.places);
  const divisor = rescale(whole, places);
  return divisor === 0n ? 0 : Number((rescale(part, places) * 1_000_000n) / divisor) / 1_000_000;
}

// Add thousands separators and keep every digit.
export function groupThousands(amount) {
  const [whole, fraction] = amount.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

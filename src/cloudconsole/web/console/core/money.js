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
  const [whole, fraction = ""] = formatFixed(digits, places).split(".");
  return `${whole}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
}

function formatFixed(digits, places) {
  const sign = digits < 0n ? "-" : "";
  const text = (digits < 0n ? -digits : digits).toString().padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  return `${sign}${whole}${places > 0 ? `.${text.slice(-places)}` : ""}`;
}

// The exact sum in the API's format: at least two decimals, no trailing zeros beyond them.
export function sum(amounts) {
  const parsed = amounts.map(parseAmount);
  const places = Math.max(0, ...parsed.map((amount) => amount.places));
  return formatAmount(parsed.reduce((total, amount) => total + rescale(amount, places), 0n), places);
}

// The first amount minus the second, exactly.
export function difference(first, second) {
  return sum([first, second.startsWith("-") ? second.slice(1) : `-${second}`]);
}

// A whole number of times an amount, exactly.
export function multiply(amount, count) {
  const { digits, places } = parseAmount(amount);
  return formatAmount(digits * BigInt(count), places);
}

// Round to a number of decimals. Half a unit is rounded away from zero, as is usual for bills: 0.125 becomes 0.13.
export function round(amount, places) {
  const parsed = parseAmount(amount);
  if (parsed.places <= places) return formatFixed(rescale(parsed, places), places);
  const unit = 10n ** BigInt(parsed.places - places);
  const isNegative = parsed.digits < 0n;
  const magnitude = ((isNegative ? -parsed.digits : parsed.digits) + unit / 2n) / unit;
  return formatFixed(isNegative ? -magnitude : magnitude, places);
}

// Negative if the first amount is less, positive if it is more, else 0.
export function compare(first, second) {
  const [a, b] = [parseAmount(first), parseAmount(second)];
  const places = Math.max(a.places, b.places);
  const difference = rescale(a, places) - rescale(b, places);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

// An amount as a fraction of a total, approximate, for charts only.
export function share(amount, total) {
  const [part, whole] = [parseAmount(amount), parseAmount(total)];
  const places = Math.max(part.places, whole.places);
  const divisor = rescale(whole, places);
  return divisor === 0n ? 0 : Number((rescale(part, places) * 1_000_000n) / divisor) / 1_000_000;
}

// Add thousands separators and a minus sign, and keep every digit.
export function groupThousands(amount) {
  const [whole, fraction] = amount.replace("-", "−").split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

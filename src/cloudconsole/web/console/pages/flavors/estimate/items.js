// The items of an estimate, as in GetEstimate, and their form in the URL: items=instance*3*14 volume*1*100*ssd. What
// cannot be estimated is {invalid: its form in the URL}, with `flavorId` if the console has no such flavor.

const MAX_COUNT = 100_000;
const MAX_SIZE = 100_000_000;
export const MAX_ITEMS = 100;
export const LIMITS = { count: MAX_COUNT, size: MAX_SIZE };
export const SIZED = ["volume", "image"];
const UNSIZED = ["loadbalance", "floating_ip"];

export function parseItems(text, flavors) {
  const forms = text.split(" ").filter(Boolean);
  return forms.map((form) => parseItem(form.split("*"), flavors) ?? { invalid: form, flavorId: flavorIdOf(form) });
}

function flavorIdOf(form) {
  const [kind, countText, id] = form.split("*");
  return kind === "instance" && wholeNumber(countText, MAX_COUNT) !== null ? decode(id) : "";
}

function parseItem([kind, countText, ...details], flavors) {
  const count = wholeNumber(countText, MAX_COUNT);
  if (count === null) return null;
  if (UNSIZED.includes(kind)) return { kind, count };
  if (kind === "instance") {
    const flavor = flavors.find(({ id }) => id === decode(details[0]));
    return flavor ? { kind, count, flavor } : null;
  }
  const size = wholeNumber(details[0], MAX_SIZE);
  if (!SIZED.includes(kind) || size === null) return null;
  return kind === "volume" ? { kind, count, size, type: decode(details[1]) } : { kind, count, size };
}

export function formatItems(items) {
  return items.map(formatItem).join(" ");
}

function formatItem({ kind, count, flavor, size, type, invalid }) {
  if (invalid) return invalid;
  const details = flavor ? [encode(flavor.id)] : [size, type && encode(type)];
  return [kind, count, ...details.filter(Boolean)].join("*");
}

// The request's form of an item.
export function requestItem({ kind, count, flavor, size, type }, node) {
  return {
    res_type: kind,
    count,
    ...(flavor && { flavor: flavor.id }),
    ...(size && { size }),
    ...(type && { type }),
    ...(node && kind !== "floating_ip" && { region: node }),
  };
}

// A whole number from 1 to the maximum, or null.
export function wholeNumber(text, maximum) {
  const value = /^\d{1,9}$/.test(text ?? "") ? Number(text) : 0;
  return value >= 1 && value <= maximum ? value : null;
}

// Separators are encoded, too.
function encode(text) {
  return encodeURIComponent(text).replaceAll("*", "%2A");
}

function decode(text = "") {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

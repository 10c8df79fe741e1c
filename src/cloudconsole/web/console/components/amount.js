// Amounts of money. Each is shown rounded to the currency's smallest unit or, inside an element with the class
// `is-exact`, with all decimals of the API.

import { h } from "../core/dom.js";
import { formatNumber, language, t } from "../core/i18n.js";
import { groupThousands, round } from "../core/money.js";

const USUAL_PLACES = 2;
// Up to this length a number stays on one line at every width.
const UNBROKEN = 16;

// The decimals of a currency: 2 for CNY, 0 for JPY, 3 for KWD.
export function currencyPlaces(currency) {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits;
  } catch {
    return USUAL_PLACES;
  }
}

// The code and, if the browser knows it, the name of a currency.
export function currencyName(code) {
  try {
    const name = new Intl.DisplayNames(language(), { type: "currency", fallback: "none" }).of(code);
    return name ? t("costs.currency", { code, name }) : code;
  } catch {
    return code;
  }
}

// An amount that is not zero is never shown as zero.
export function roundedText(amount, currency) {
  const places = currencyPlaces(currency);
  const rounded = round(amount, places);
  if (/[1-9]/.test(rounded) || !/[1-9]/.test(amount)) return groupThousands(rounded);
  const unit = places === 0 ? "1" : `0.${"1".padStart(places, "0")}`;
  return t(amount.startsWith("-") ? "amount.above" : "amount.below", { unit });
}

export function amount(text, currency) {
  const [rounded, exact] = [roundedText(text, currency), groupThousands(text)];
  if (rounded === exact) return exactAmount(text);
  const variants = [
    h("span", { class: "rounded" }, breakable(rounded)),
    h("span", { class: "exact" }, breakable(exact)),
  ];
  return h("span", { class: amountClass(exact) }, variants);
}

// Rounded, with the exact amount as its title.
export function roundedAmount(text, currency) {
  const rounded = roundedText(text, currency);
  return h("span", { class: amountClass(rounded), title: `${groupThousands(text)} ${currency}` }, rounded);
}

export function exactAmount(text) {
  const exact = groupThousands(text);
  return h("span", { class: amountClass(exact) }, breakable(exact));
}

function amountClass(text) {
  return text.length > UNBROKEN ? "amount is-long" : "amount";
}

export function amountWithCurrency(text, currency) {
  return [amount(text, currency), " ", h("span", { class: "currency" }, currency)];
}

// A part of a total in percent. 100% is shown only for the whole, 0% never.
export function percent(part) {
  const thousandths = part === 1 ? 1000 : Math.min(999, Math.round(part * 1000));
  return thousandths <= 0 ? t("amount.share.tiny") : t("amount.share", { percent: formatNumber(thousandths / 10, 1) });
}

// A number that is too long for its line is broken between groups of thousands, or before many decimals.
function breakable(text) {
  if (text.length <= UNBROKEN) return text;
  const [first, ...rest] = text.split(/(?<=,)|(?=\.\d{3})/);
  return [first, rest.map((part) => [h("wbr"), part])];
}

// All times on the page are in the console's time zone, formatted for the reader's locale.

import { locale } from "./i18n.js";

const DAY = { dateStyle: "medium" };
const MINUTES = { ...DAY, timeStyle: "short", hourCycle: "h23" };
const SECONDS = { ...MINUTES, timeStyle: "medium" };

// A time of the API, such as "2026-10-12 12:00:00", is in the console's time zone already.
export function formatTime(text) {
  return formatTimeOfApi(text, MINUTES);
}

export function formatDate(text) {
  return formatTimeOfApi(text, DAY);
}

function formatTimeOfApi(text, options) {
  const moment = new Date(`${text.replace(" ", "T")}Z`);
  return Number.isNaN(moment.getTime()) ? text : format(moment, { ...options, timeZone: "UTC" });
}

// A moment of this computer's clock, to the second, with the name of the time zone.
export function formatMoment(moment, timeZone) {
  try {
    return `${format(moment, { ...SECONDS, timeZone })} (${timeZone})`;
  } catch {
    // The browser does not know the time zone.
    return moment.toISOString();
  }
}

// The day of a time of the API, without its year. An end is that of the last hour: midnight belongs to the day before.
export function formatDay(text, { isEnd = false } = {}) {
  const moment = new Date(`${text.replace(" ", "T")}Z`);
  if (Number.isNaN(moment.getTime())) return text;
  return format(new Date(moment.getTime() - (isEnd ? 1 : 0)), { day: "numeric", month: "short", timeZone: "UTC" });
}

// A month of the API, such as "2026-10".
export function formatMonth(text) {
  return formatPartsOfMonth(text, { month: "long", year: "numeric" });
}

export function formatShortMonth(text) {
  return formatPartsOfMonth(text, { month: "short" });
}

export function daysInMonth(text) {
  const [year, number] = text.split("-").map(Number);
  return new Date(Date.UTC(year, number, 0)).getUTCDate();
}

// The month that begins so many months after another, or before it.
export function addMonths(text, count) {
  const [year, number] = text.split("-").map(Number);
  const months = year * 12 + number - 1 + count;
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, "0")}`;
}

function formatPartsOfMonth(text, options) {
  const moment = new Date(`${text}-01T00:00:00Z`);
  return Number.isNaN(moment.getTime()) ? text : format(moment, { ...options, timeZone: "UTC" });
}

function format(moment, options) {
  return new Intl.DateTimeFormat(locale(), options).format(moment);
}

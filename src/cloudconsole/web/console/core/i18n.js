// Languages and messages. The language is the stored choice, else the browser's preference.

import * as storage from "./storage.js";
import { MESSAGES } from "../messages/index.js";

export const LANGUAGES = { en: "English", zh: "中文" };
const STORAGE_KEY = "language";

const listeners = new Set();
const numberFormats = {};
let current = preferredLanguage();

export function language() {
  return current;
}

// The browser's regional variant of the current language, for date formats.
export function locale() {
  return navigator.languages.find((tag) => baseLanguage(tag) === current) ?? current;
}

// The message for a key in the current language, with {placeholders} replaced.
export function t(key, values = {}) {
  const message = MESSAGES[key];
  if (message === undefined) throw new Error(`unknown message key: ${key}`);
  return message[current].replace(/\{(\w+)\}/g, (placeholder, name) =>
    name in values ? String(values[name]) : placeholder,
  );
}

export function hasMessage(key) {
  return Object.hasOwn(MESSAGES, key);
}

export function formatNumber(value, places = 0) {
  numberFormats[`${current} ${places}`] ??= new Intl.NumberFormat(current, { minimumFractionDigits: places });
  return numberFormats[`${current} ${places}`].format(value);
}

export function setLanguage(choice) {
  storage.write(STORAGE_KEY, choice);
  applyLanguage(choice);
}

export function onLanguageChange(listener) {
  listeners.add(listener);
}

function applyLanguage(choice) {
  if (choice === current) return;
  current = choice;
  document.documentElement.lang = choice;
  for (const listener of listeners) listener();
}

function preferredLanguage() {
  const stored = storage.read(STORAGE_KEY);
  if (Object.hasOwn(LANGUAGES, stored)) return stored;
  return navigator.languages.map(baseLanguage).find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? "en";
}

function baseLanguage(tag) {
  return tag.toLowerCase().split("-")[0];
}

document.documentElement.lang = current;
storage.onExternalChange(STORAGE_KEY, () => applyLanguage(preferredLanguage()));

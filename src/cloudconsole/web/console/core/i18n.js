// The two languages: the one chosen here before, else the one the browser asks for first.

import * as kept from "./storage.js";
import { TEXTS } from "../messages/index.js";

export const LANGUAGES = { en: "English", zh: "中文" };
const KEPT = "language";

const listeners = new Set();
const formats = {};
let current = chosen();

export function language() {
  return current;
}

// The language as this browser's people write it, so that dates are in their own order.
export function locale() {
  return navigator.languages.find((tag) => languageOf(tag) === current) ?? current;
}

// The text of a name in the language of the page, with {places} filled in.
export function t(name, values = {}) {
  const text = TEXTS[name];
  if (text === undefined) throw new Error(`no text is called ${name}`);
  return text[current].replace(/\{(\w+)\}/g, (place, key) => (key in values ? String(values[key]) : place));
}

// A number as people of this language write it.
export function number(value) {
  formats[current] ??= new Intl.NumberFormat(current);
  return formats[current].format(value);
}

export function speak(choice) {
  kept.write(KEPT, choice);
  settle(choice);
}

export function onLanguage(listener) {
  listeners.add(listener);
}

function settle(choice) {
  if (choice === current) return;
  current = choice;
  document.documentElement.lang = choice;
  for (const listener of listeners) listener();
}

function chosen() {
  const before = kept.read(KEPT);
  if (Object.hasOwn(LANGUAGES, before)) return before;
  return navigator.languages.map(languageOf).find((each) => Object.hasOwn(LANGUAGES, each)) ?? "en";
}

function languageOf(tag) {
  return tag.toLowerCase().split("-")[0];
}

document.documentElement.lang = current;
kept.onWrittenElsewhere(KEPT, () => settle(chosen()));

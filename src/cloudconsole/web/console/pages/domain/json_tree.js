// Any JSON as text that can be folded: keys and values as they are, numbers with all their digits.

import { h } from "../../core/dom.js";
import { number, t } from "../../core/i18n.js";

const DEEPEST = 8;

export function isEmpty(value) {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && !isExact(value) && Object.keys(value).length === 0;
}

export function tree(value, depth = 0) {
  if (isPlain(value)) return plain(value);
  if (isPlainList(value)) {
    return h("ul", { class: "plain-list" }, value.map((each) => h("li", {}, plain(each))));
  }
  // Nobody reads steps that deep: from there on it is the JSON itself.
  if (depth === DEEPEST) return h("code", {}, JSON.stringify(value));
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, each]) => part(isList ? nth(key) : key, each, depth));
  return h("div", { class: `tree ${isList ? "items" : "pairs"}` }, parts);
}

function part(key, value, depth) {
  const name = h("bdi", {}, key);
  const inner = tree(value, depth + 1);
  if (isPlain(value) || isPlainList(value)) {
    return h("div", { class: "pair" }, h("span", { class: "key" }, name), h("div", { class: "value" }, inner));
  }
  return h("details", { open: true }, h("summary", {}, name), inner);
}

function nth(index) {
  return t("tree.nth", { n: number(Number(index) + 1) });
}

// Numbers that a browser's own cannot hold come as they were written.
function isExact(value) {
  return JSON.isRawJSON?.(value) ?? false;
}

function isPlain(value) {
  return value === null || typeof value !== "object" || isExact(value) || Object.keys(value).length === 0;
}

function isPlainList(value) {
  return Array.isArray(value) && value.every(isPlain);
}

function plain(value) {
  if (isExact(value)) return h("code", {}, value.rawJSON);
  if (value === "") return h("span", { class: "quiet" }, t("tree.empty"));
  if (value === null || typeof value === "object") return h("span", { class: "quiet" }, t("domain.none"));
  return typeof value === "string" ? h("bdi", {}, value) : h("code", {}, String(value));
}

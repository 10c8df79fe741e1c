// Any JSON value as a collapsible tree. Numbers keep all their digits.

import { h } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { fieldLabel, itemTitle, valueText } from "./terms.js";

const MAX_DEPTH = 8;

export function isEmpty(value) {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && !isRawNumber(value) && Object.keys(value).length === 0;
}

export function jsonTree(value, depth = 0) {
  if (isLeaf(value)) return leaf(value);
  if (isLeafList(value)) {
    return h("ul", { class: "inline-list" }, value.map((each) => h("li", {}, leaf(each))));
  }
  // Deeper levels are shown as JSON text.
  if (depth === MAX_DEPTH) return h("code", {}, JSON.stringify(value));
  const isList = Array.isArray(value);
  const parts = Object.entries(value);
  return h("div", { class: "tree" }, parts.map(([key, each]) => (isList ? item : field)(key, each, depth)));
}

function field(name, value, depth) {
  const text = (each) => valueText(name, each);
  return entry(fieldLabel(name), isLeaf(value) ? text(value) : isLeafList(value) ? value.map(text) : value, depth);
}

// The title of an item replaces the fields it is made of.
function item(index, value, depth) {
  const titled = !isLeaf(value) && !Array.isArray(value) && itemTitle(value);
  if (!titled) return entry(t("tree.item", { number: formatNumber(Number(index) + 1) }), value, depth);
  const rest = Object.entries(value).filter(([name]) => !titled.names.includes(name));
  return entry(titled.title, Object.fromEntries(rest), depth);
}

function entry(label, value, depth) {
  const name = h("bdi", {}, label);
  const content = jsonTree(value, depth + 1);
  if (isLeaf(value) || isLeafList(value)) {
    return h("div", { class: "pair" }, h("span", { class: "key" }, name), h("div", { class: "value" }, content));
  }
  return h("details", { open: true }, h("summary", {}, name), content);
}

// A number that a JavaScript number cannot represent.
function isRawNumber(value) {
  return JSON.isRawJSON?.(value) ?? false;
}

function isLeaf(value) {
  return value === null || typeof value !== "object" || isRawNumber(value) || Object.keys(value).length === 0;
}

function isLeafList(value) {
  return Array.isArray(value) && value.every(isLeaf);
}

function leaf(value) {
  if (isRawNumber(value)) return h("code", {}, value.rawJSON);
  if (value === "") return h("span", { class: "muted" }, t("tree.empty"));
  if (value === null || typeof value === "object") return h("span", { class: "muted" }, t("domain.none"));
  return typeof value === "string" ? h("bdi", {}, value) : h("code", {}, String(value));
}

// The costs of a month by kind, node or resource, as a table.

import { amount, percent } from "../../components/amount.js";
import { dataTable } from "../../components/data_table.js";
import { h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { compare, difference, share, sum } from "../../core/money.js";
import { addMonths, formatMonth } from "../../core/time.js";
import { calculation, lifetime, sizeText } from "./calculation.js";
import { kindName } from "./kinds.js";
import { isCorrection, total } from "./rows.js";

// Longer names of nodes and kinds may be broken.
const UNBROKEN = 20;

// `groups` are those to show, `costs` all rows of the month, `period` see `lifetime`, or null. `onSelect` receives the
// group whose resources to show. `before` has the groups of the month before by key, or is null.
export function breakdownTable(groups, options) {
  const { before, by, costs, currency, month, totalLabel } = options;
  const columns = columnsOf(options);
  const totals = {
    [by]: totalLabel,
    usage: amount(sum(groups.map((group) => group.usage)), currency),
    corrections: amount(sum(groups.map((group) => group.corrections)), currency),
    amount: amount(total(groups), currency),
    share: shareOf(groups.reduce(addUp, { amount: "0", corrections: "0" }), total(costs)),
  };
  const hasCorrections = costs.some(isCorrection);
  return dataTable({
    caption: [
      t("costs.breakdown.caption", { month: formatMonth(month), currency }),
      before && [" · ", t("costs.breakdown.change", { month: formatMonth(addMonths(month, -1)) })],
    ],
    name: `breakdown-table by-${by} ${hasCorrections ? "has-corrections" : ""}`,
    columns,
    rows: groups.map((group) => columns.map(({ content }) => content(group))),
    totals: columns.map(({ name }) => totals[name] ?? ""),
  });
}

function columnsOf(options) {
  const { by, costs, currency, prices } = options;
  const money = (name, label) => ({ name, label, isNumber: true, content: (group) => amount(group[name], currency) });
  const whole = total(costs);
  const details = [
    { name: "kind", label: t("costs.kind"), content: kindAndSize },
    { name: "node", label: t("costs.node"), content: nodesOf },
    { name: "calculation", label: t("costs.calculation"), content: ({ rows }) => calculation(rows, currency, prices) },
  ];
  const parts = [money("usage", t("costs.usage")), money("corrections", t("costs.corrections.short"))];
  return [
    { name: by, label: t(`costs.${by}`), content: (group) => groupName(group, options) },
    ...(by === "resource" ? details : costs.some(isCorrection) ? parts : []),
    {
      ...money("amount", t("costs.cost")),
      content: (group) => [amount(group.amount, currency), options.before && change(group, options)],
      isMain: true,
    },
    { name: "share", label: t("costs.share"), isNumber: true, content: (group) => shareOf(group, whole) },
  ];
}

// How much more or less than in the month before.
function change({ key, amount: cost }, { before, currency, month }) {
  const previous = before.get(key);
  const more = difference(cost, previous?.amount ?? "0");
  if (compare(more, "0") === 0) return null;
  const label = t("costs.compared", { month: formatMonth(addMonths(month, -1)) });
  return h(
    "span",
    { class: "change muted", title: label },
    h("span", { class: "visually-hidden" }, label, " "),
    previous ? [compare(more, "0") > 0 && "+", amount(more, currency)] : t("costs.new"),
  );
}

function addUp(all, { amount: cost, corrections }) {
  return { amount: sum([all.amount, cost]), corrections: sum([all.corrections, corrections]) };
}

function groupName(group, options) {
  const { item } = group;
  if (options.by === "kind") return selectButton(group, name(kindName(item.res_type)), options);
  if (options.by === "node") {
    if (item.region === "") return h("span", { class: "muted" }, t("costs.no_node"));
    return selectButton(group, name(item.region), options);
  }
  // The correction of a price.
  if (item.res_id === "") return t("costs.correction");
  const marks = options.period === null ? [] : lifetime(group.rows, options.period);
  return [
    h("bdi", {}, item.name),
    h("bdi", { class: "resource-id muted" }, item.res_id),
    marks.map((text) => [h("span", { class: "badge" }, text), " "]),
  ];
}

function selectButton(group, content, { onSelect }) {
  const title = t("costs.show_resources");
  return h("button", { type: "button", class: "group-link", title, onclick: () => onSelect(group) }, content);
}

function kindAndSize({ item, rows }) {
  const latest = rows.findLast((row) => !isCorrection(row));
  const size = latest ? sizeText(latest) : "";
  return [name(kindName(item.res_type)), size !== "" && h("span", { class: "size muted" }, size)];
}

function nodesOf({ nodes }) {
  return nodes.map((node, index) => [index > 0 && t("list.comma"), name(node)]);
}

function name(text) {
  return h("bdi", { class: text.length <= UNBROKEN && "nowrap" }, text);
}

// Corrections can make an amount negative, and then a share says nothing.
function shareOf({ amount: part, corrections }, whole) {
  if (compare(part, "0") < 0 || compare(whole, "0") <= 0) return "";
  if (compare(part, whole) > 0) return "";
  const fraction = share(part, whole);
  const text = compare(part, "0") === 0 ? t("amount.share", { percent: "0" }) : percent(fraction);
  const ofCorrections = compare(corrections, "0") > 0 && compare(corrections, part) <= 0 ? share(corrections, whole) : 0;
  return h("span", { class: "share" }, bar(fraction - ofCorrections, ofCorrections), h("span", { class: "percent" }, text));
}

// The numbers are in the text.
function bar(usage, corrections) {
  const part = (name, fraction) => {
    const element = h("span", { class: name });
    element.style.width = `${Math.max(0, fraction) * 100}%`;
    return element;
  };
  const parts = [part("fill", usage), corrections > 0 && part("fill correction", corrections)];
  return h("span", { class: "track", "aria-hidden": "true" }, parts);
}

// How the cost of a resource in a month is composed: hours times the price per hour, and corrections. Prices are exact.

import { amount, exactAmount } from "../../components/amount.js";
import { h } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { NO_BREAK_SPACE } from "../../core/numbers.js";
import { addMonths, formatDay, formatTime } from "../../core/time.js";
import { hourlyRate } from "./hourly_rate.js";
import { isCorrection, total } from "./rows.js";

const CAUSES = ["start", "change", "end", "remove", "price"];
const LINES_SHOWN = 3;

// A line for each period with its own size, node and price, and for each cause of corrections. With several lines each
// has its sum. `prices` explain the price per hour.
export function calculation(rows, currency, prices) {
  const usage = rows.filter((row) => !isCorrection(row));
  const corrections = Map.groupBy(rows.filter(isCorrection), (row) => row.remarks);
  const count = usage.length + corrections.size;
  const result = (sum) => count > 1 && [" = ", amount(sum, currency)];
  const lines = [
    ...usage.map((row) => [usageText(row, usage), result(row.amount), hourlyRate(row, prices)]),
    ...[...corrections].map(([cause, found]) => [correctionText(cause), amount(total(found), currency)]),
  ].map((content) => h("span", { class: "line" }, content));
  const rest = lines.slice(LINES_SHOWN);
  if (rest.length <= 1) return lines;
  return [
    lines.slice(0, LINES_SHOWN),
    h("details", {}, h("summary", {}, t("costs.more", { count: formatNumber(rest.length) })), rest),
  ];
}

function usageText(row, all) {
  const hours = t("costs.hours", { hours: formatNumber(Number(row.cost_time) / 3600) });
  const isResized = all.some((each) => sizeText(each) !== sizeText(row));
  return [
    !row.start_at.endsWith("-01 00:00:00") && all.length > 1 && t("costs.from", { time: formatTime(row.start_at) }),
    isResized && [sizeText(row), " · "],
    h("span", { class: "nowrap" }, hours, " × ", exactAmount(row.unit_price)),
  ];
}

function correctionText(cause) {
  return t(CAUSES.includes(cause) ? `costs.correction.${cause}` : "costs.correction.other");
}

// Cores and RAM, or the size of a volume or an image; empty for what has neither.
export function sizeText({ res_meta: { vcpus, memory_gb: memory, size_gb: size } }) {
  return [
    vcpus > 0 && (vcpus === 1 ? t("flavors.core") : t("flavors.n_cores", { count: formatNumber(vcpus) })),
    memory > 0 && t("flavor.ram_text", { size: gigabytes(memory) }),
    size > 0 && gigabytes(size),
  ]
    .filter(Boolean)
    .join(" · ");
}

function gigabytes(count) {
  return `${formatNumber(count)}${NO_BREAK_SPACE}GB`;
}

// The hours of a month so far: {start, end}. What runs in the current hour is billed up to its end.
export function periodOf(costs, month, isCurrent) {
  const end = isCurrent ? costs.map((row) => row.end_at).sort().at(-1) : `${addMonths(month, 1)}-01 00:00:00`;
  return { start: `${month}-01 00:00:00`, end };
}

// When a resource started or ended within the period. All of it must be recorded, since hours that are not recorded have
// no rows either.
export function lifetime(rows, { start, end }) {
  const usage = rows.filter((row) => !isCorrection(row));
  if (usage.length === 0) return [];
  const first = usage.map((row) => row.start_at).sort()[0];
  const last = usage.map((row) => row.end_at).sort().at(-1);
  const isRunning = usage.some((row) => row.is_billing);
  return [
    first > start && t("costs.started", { day: formatDay(first) }),
    last < end && !isRunning && t("costs.ended", { day: formatDay(last, { isEnd: true }) }),
  ].filter(Boolean);
}

// One quota: a bar if there is a limit to fill, the numbers, and the status in words.

import { h, newId } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";

const NEAR_PERCENT = 80n;
export const UNKNOWN = "…";

// The status of a quota, in exact integer arithmetic.
export function quotaStatus(used, limit) {
  if (limit < 0n) return "unlimited";
  if (used > limit) return "over";
  if (limit === 0n) return "zero";
  if (used === limit) return "full";
  return used * 100n >= limit * NEAR_PERCENT ? "near" : "ok";
}

// With one decimal, as everywhere on the page. What is below the limit, or not near it, is not rounded up to it.
export function percentText(used, limit) {
  const bound = [NEAR_PERCENT, 100n].find((percent) => used * 100n < limit * percent);
  const thousandths = (used * 2000n + limit) / (2n * limit);
  const shown = bound !== undefined && thousandths >= bound * 10n ? bound * 10n - 1n : thousandths;
  return t("quota.percent", { percent: formatNumber(Number(shown) / 10, 1) });
}

export function gauge({ name, label, used, limit, format }) {
  const status = quotaStatus(used, limit);
  const id = newId("gauge");
  const free = limit > used ? limit - used : 0n;
  const texts = {
    used: format(used),
    limit: status === "unlimited" ? t("quota.unlimited") : format(limit),
    free: status === "unlimited" ? t("quota.unlimited") : format(free),
  };
  return h(
    "li",
    { class: `gauge ${status}`, "data-quota": name },
    head(h("span", { class: "gauge-name", id }, label), statusText(status, { used, limit, format })),
    hasBar(status) && meter(id, status, { used, limit, texts }),
    numbers(texts),
  );
}

// The same before the numbers are known.
export function emptyGauge(label) {
  return h(
    "li",
    { class: "gauge ok" },
    head(h("span", { class: "gauge-name" }, label), UNKNOWN),
    h("div", { class: "track" }),
    numbers({ used: UNKNOWN, limit: UNKNOWN, free: UNKNOWN }),
  );
}

function head(name, status) {
  return h("div", { class: "gauge-head" }, name, h("span", { class: "gauge-status" }, status));
}

function numbers(texts) {
  const number = ([key, text]) => h("div", { class: key }, h("dt", {}, t(`quota.${key}`)), h("dd", {}, text));
  return h("dl", { class: "gauge-numbers" }, Object.entries(texts).map(number));
}

function hasBar(status) {
  return status !== "unlimited" && status !== "zero";
}

function statusText(status, { used, limit, format }) {
  return t(`quota.status.${status}`, {
    percent: limit > 0n ? percentText(used, limit) : "",
    excess: status === "over" ? format(used - limit) : "",
  });
}

function meter(labelId, status, { used, limit, texts }) {
  const percent = limit > 0n && used < limit ? Number((used * 10_000n) / limit) / 100 : 100;
  const fill = h("span", { class: "fill" });
  // Any usage is visible, however small.
  fill.style.width = used > 0n ? `max(${percent}%, 3px)` : "0";
  return h(
    "div",
    {
      class: "track",
      role: "meter",
      "aria-labelledby": labelId,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(percent),
      "aria-valuetext": t(status === "over" ? "quota.meter.over" : "quota.meter", texts),
    },
    fill,
  );
}

// One quota: a bar if there is a limit to fill, the numbers, and the status in words.

import { h, newId } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";

const NEAR_PERCENT = 80n;

// The status of a quota, in exact integer arithmetic.
export function quotaStatus(used, limit) {
  if (limit < 0n) return "unlimited";
  if (used > limit) return "over";
  if (limit === 0n) return "zero";
  if (used === limit) return "full";
  return used * 100n >= limit * NEAR_PERCENT ? "near" : "ok";
}

// With one decimal, as everywhere on the page; rounded down, so that 100 % is the whole.
export function percentText(used, limit) {
  return t("quota.percent", { percent: formatNumber(Number((used * 1000n) / limit) / 10, 1) });
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
    h(
      "div",
      { class: "gauge-head" },
      h("span", { class: "gauge-name", id }, label),
      h("span", { class: "gauge-status" }, statusText(status, { used, limit, format })),
    ),
    hasBar(status) && meter(id, status, { used, limit, texts }),
    h(
      "dl",
      { class: "gauge-numbers" },
      Object.entries(texts).map(([key, text]) =>
        h("div", { class: key }, h("dt", {}, t(`quota.${key}`)), h("dd", {}, text)),
      ),
    ),
  );
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

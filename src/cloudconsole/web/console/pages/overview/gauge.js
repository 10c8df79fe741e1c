// One quota: a bar where there is a limit to fill, and always the figures; what it means is said in words, too.

import { h, newId } from "../../core/dom.js";
import { number, t } from "../../core/i18n.js";

const MUCH = 80n;

// How a quota stands; all by exact whole numbers.
export function stateOf(used, limit) {
  if (limit < 0n) return "unlimited";
  if (used > limit) return "over";
  if (limit === 0n) return "closed";
  if (used === limit) return "full";
  return used * 100n >= limit * MUCH ? "near" : "fine";
}

export function gauge({ name, label, used, limit, written }) {
  const state = stateOf(used, limit);
  const id = newId("gauge");
  const free = limit > used ? limit - used : 0n;
  const said = {
    used: written(used),
    limit: state === "unlimited" ? t("quota.unlimited") : written(limit),
    free: state === "unlimited" ? t("quota.unlimited") : written(free),
  };
  return h(
    "li",
    { class: `gauge ${state}`, "data-quota": name },
    h(
      "div",
      { class: "gauge-head" },
      h("span", { class: "gauge-name", id }, label),
      word(state, { used, limit, written }),
    ),
    hasBar(state) && meter(id, state, { used, limit, said }),
    h(
      "dl",
      { class: "figures" },
      Object.entries(said).map(([figure, text]) =>
        h("div", { class: figure }, h("dt", {}, t(`quota.${figure}`)), h("dd", {}, text)),
      ),
    ),
  );
}

function hasBar(state) {
  return state !== "unlimited" && state !== "closed";
}

// The word that says what the bar's colour does.
function word(state, { used, limit, written }) {
  const values = {
    percent: percent(used, limit),
    excess: state === "over" ? written(used - limit) : "",
  };
  return h("span", { class: "gauge-word" }, t(`quota.is.${state}`, values));
}

function percent(used, limit) {
  return limit > 0n ? number((used * 100n) / limit) : "";
}

function meter(label, state, { used, limit, said }) {
  const share = limit > 0n && used < limit ? Number((used * 10_000n) / limit) / 100 : 100;
  const fill = h("span", { class: "fill" });
  // What is in use at all is seen to be.
  fill.style.width = used > 0n ? `max(${share}%, 3px)` : "0";
  return h(
    "div",
    {
      class: "track",
      role: "meter",
      "aria-labelledby": label,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(share),
      "aria-valuetext": t(state === "over" ? "quota.says.over" : "quota.says", said),
    },
    fill,
  );
}

// Names of fields and values that consoles commonly have in domains. All others are shown as they are.

import { hasMessage, language, t } from "../../core/i18n.js";

const DURATION_UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];

export function fieldLabel(name) {
  return hasMessage(`domain.key.${name}`) ? t(`domain.key.${name}`) : name;
}

export function valueText(field, value) {
  if (typeof value === "boolean" && hasMessage(`domain.key.${field}`)) return t(value ? "domain.yes" : "domain.no");
  if (field === "ttlSeconds" && Number.isSafeInteger(value) && value >= 0) return duration(value);
  if (typeof value !== "string") return value;
  const key = `domain.value.${field}.${value}`;
  return hasMessage(key) ? t(key) : value;
}

// What an item of a list is about, and the fields that say it.
export function itemTitle(item) {
  for (const names of [["pathPattern"], ["type", "mode"]]) {
    if (names.every((name) => typeof item[name] === "string" && item[name] !== "")) {
      return { title: names.map((name) => valueText(name, item[name])).join(" · "), names };
    }
  }
  return null;
}

// Exact, in the largest unit that has no fraction: 86400 is 1 day, 5400 is 90 minutes, 0 is 0 seconds.
function duration(seconds) {
  const [unit, length] = DURATION_UNITS.find(([, each]) => seconds >= each && seconds % each === 0) ?? ["second", 1];
  return new Intl.NumberFormat(language(), { style: "unit", unit, unitDisplay: "long" }).format(seconds / length);
}

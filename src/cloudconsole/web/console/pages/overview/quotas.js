// Quotas: first those that are nearly used up, then the others in three groups; gauges for what is in use, plain
// numbers for other limits.

import { h, newId } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { formatSize, toBigInt } from "../../core/numbers.js";
import { UNKNOWN, emptyGauge, gauge, percentText, quotaStatus } from "./gauge.js";

// Gauges are [name, usage field, limit field, unit], limits [name, limit field, unit].
const GROUPS = {
  compute: {
    gauges: [
      ["instances", "totalInstancesUsed", "maxTotalInstances"],
      ["cores", "totalCoresUsed", "maxTotalCores"],
      ["ram", "totalRAMUsed", "maxTotalRAMSize", "ram"],
    ],
    limits: [
      ["keypairs", "maxTotalKeypairs"],
      ["server_meta", "maxServerMeta"],
      ["image_meta", "maxImageMeta"],
      ["personality", "maxPersonality"],
      ["personality_size", "maxPersonalitySize", "personality"],
    ],
  },
  storage: {
    gauges: [
      ["volumes", "totalVolumesUsed", "maxTotalVolumes"],
      ["gigabytes", "totalGigabytesUsed", "maxTotalVolumeGigabytes", "volume"],
      ["snapshots", "totalSnapshotsUsed", "maxTotalSnapshots"],
    ],
    limits: [],
  },
  network: {
    gauges: [
      ["floating_ips", "totalFloatingIpsUsed", "maxTotalFloatingIps"],
      ["security_groups", "totalSecurityGroupsUsed", "maxSecurityGroups"],
    ],
    limits: [["security_group_rules", "maxSecurityGroupRules"]],
  },
};

export function quotas(usage, units) {
  const formatter = (unit) => (amount) => (unit ? formatSize(amount, units[unit]) : formatNumber(amount));
  const groups = Object.entries(GROUPS).map(([name, { gauges, limits }]) => ({
    name,
    gauges: gauges.map(([quota, used, limit, unit]) => ({
      name: quota,
      label: t(`quota.${quota}`),
      used: toBigInt(usage[used]),
      limit: toBigInt(usage[limit]),
      format: formatter(unit),
    })),
    limits: limits.map(([quota, limit, unit]) => [quota, limitText(toBigInt(usage[limit]), formatter(unit))]),
  }));
  const gauges = groups.flatMap((group) => group.gauges);
  const urgent = gauges.filter(isUrgent).sort(byUrgency);
  const rest = groups.map((group) => ({ ...group, gauges: group.gauges.filter((each) => !isUrgent(each)) }));
  return [
    alerts(gauges),
    urgent.length > 0 && quotaGroup({ name: "urgent", gauges: urgent.map(gauge), limits: [] }),
    h(
      "div",
      { class: "quota-groups" },
      rest
        .filter((each) => each.gauges.length + each.limits.length > 0)
        .map((group) => quotaGroup({ ...group, gauges: group.gauges.map(gauge) })),
    ),
  ];
}

// The quotas before their numbers are known.
export function quotaSkeleton() {
  const groups = Object.entries(GROUPS).map(([name, { gauges, limits }]) => ({
    name,
    gauges: gauges.map(([quota]) => emptyGauge(t(`quota.${quota}`))),
    limits: limits.map(([quota]) => [quota, UNKNOWN]),
  }));
  return h("div", { class: "quota-groups", "aria-hidden": "true" }, groups.map(quotaGroup));
}

// Quotas from 80 % on come first, the most used of them at the top.
const URGENT = ["over", "full", "near"];

function isUrgent({ used, limit }) {
  return URGENT.includes(quotaStatus(used, limit));
}

function byUrgency(one, other) {
  const rank = ({ used, limit }) => URGENT.indexOf(quotaStatus(used, limit));
  const difference = one.used * other.limit - other.used * one.limit;
  return rank(one) - rank(other) || (difference > 0n ? -1 : Number(difference < 0n));
}

function quotaGroup({ name, gauges, limits }) {
  const id = newId("group");
  return h(
    "section",
    { class: `quota-group ${name}`, "aria-labelledby": id },
    h("h3", { id }, t(`quotas.${name}`)),
    h("ul", { class: "gauges" }, gauges),
    limits.length > 0 &&
      h("div", {}, h("h4", {}, t("quotas.limits")), h("dl", { class: "limits" }, limits.map(limitItem))),
  );
}

function limitText(limit, format) {
  return limit < 0n ? t("quota.unlimited") : format(limit);
}

function limitItem([name, text]) {
  return h("div", { "data-quota": name }, h("dt", {}, t(`quota.${name}`)), h("dd", {}, text));
}

// Which quotas are exceeded, used up or nearly so, in one sentence each.
function alerts(gauges) {
  const lines = URGENT.map((status) => {
    const found = gauges.filter(({ used, limit }) => quotaStatus(used, limit) === status).sort(byUrgency);
    const names = found.map((each) => alertName(each, status)).join(t("list.comma"));
    const key = found.length === 1 ? `quotas.${status}.one` : `quotas.${status}`;
    return found.length > 0 && h("li", { class: status }, t(key, { count: found.length, total: gauges.length, names }));
  }).filter(Boolean);
  if (lines.length === 0) return h("p", { class: "quota-alerts ok" }, t("quotas.ok"), closest(gauges));
  return h("ul", { class: "quota-alerts" }, lines);
}

// Of quotas that are not near their limits, the one that is most used.
function closest(gauges) {
  const [found] = gauges.filter(({ used, limit }) => limit > 0n && used > 0n).sort(byUrgency);
  if (!found) return null;
  const { label, used, limit, format } = found;
  const values = { name: inSentence(label), percent: percentText(used, limit), free: format(limit - used) };
  return h("span", { class: "quota-closest" }, " ", t("quotas.closest", values));
}

// RAM and the like stay as they are.
function inSentence(label) {
  return label.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
}

function alertName({ label, used, limit, format }, status) {
  const name = inSentence(label);
  if (status === "full") return name;
  const amount = t("quotas.amount", { used: format(used), limit: format(limit) });
  return t("quotas.name", { name, amount: status === "over" ? amount : percentText(used, limit) });
}

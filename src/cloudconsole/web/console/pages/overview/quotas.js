// Quotas in three groups: gauges for what is in use, plain numbers for other limits.

import { h, newId } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { formatSize, toBigInt } from "../../core/numbers.js";
import { gauge, quotaStatus } from "./gauge.js";

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
    limits: limits.map(([quota, limit, unit]) => [quota, toBigInt(usage[limit]), formatter(unit)]),
  }));
  return [
    alerts(groups.flatMap(({ gauges }) => gauges)),
    h("div", { class: "quota-groups" }, groups.map(quotaGroup)),
  ];
}

function quotaGroup({ name, gauges, limits }) {
  const id = newId("group");
  return h(
    "section",
    { class: `quota-group ${name}`, "aria-labelledby": id },
    h("h3", { id }, t(`quotas.${name}`)),
    h("ul", { class: "gauges" }, gauges.map(gauge)),
    limits.length > 0 &&
      h("div", {}, h("h4", {}, t("quotas.limits")), h("dl", { class: "limits" }, limits.map(limitItem))),
  );
}

function limitItem([name, limit, format]) {
  const text = limit < 0n ? t("quota.unlimited") : format(limit);
  return h("div", { "data-quota": name }, h("dt", {}, t(`quota.${name}`)), h("dd", {}, text));
}

// A summary of quotas near, at or over their limits, above the gauges.
function alerts(gauges) {
  const labels = (...statuses) =>
    gauges.filter(({ used, limit }) => statuses.includes(quotaStatus(used, limit))).map(({ label }) => label);
  const line = (status, names) =>
    names.length > 0 && h("li", { class: status }, t(`quotas.${status}`, { names: names.join(t("list.comma")) }));
  const lines = [line("over", labels("over")), line("near", labels("full", "near"))].filter(Boolean);
  if (lines.length === 0) return h("p", { class: "quota-alerts ok" }, t("quotas.ok"));
  return h("ul", { class: "quota-alerts" }, lines);
}

// Quotas in three groups: gauges for what is counted, plain figures for what is only limited.

import { h, newId } from "../../core/dom.js";
import { size, whole } from "../../core/numbers.js";
import { number, t } from "../../core/i18n.js";
import { gauge, stateOf } from "./gauge.js";

const GROUPS = {
  compute: {
    counted: [
      ["instances", "totalInstancesUsed", "maxTotalInstances"],
      ["cores", "totalCoresUsed", "maxTotalCores"],
      ["ram", "totalRAMUsed", "maxTotalRAMSize", "ram"],
    ],
    limited: [
      ["keypairs", "maxTotalKeypairs"],
      ["server_meta", "maxServerMeta"],
      ["image_meta", "maxImageMeta"],
      ["personality", "maxPersonality"],
      ["personality_size", "maxPersonalitySize", "personality"],
    ],
  },
  storage: {
    counted: [
      ["volumes", "totalVolumesUsed", "maxTotalVolumes"],
      ["gigabytes", "totalGigabytesUsed", "maxTotalVolumeGigabytes", "volume"],
      ["snapshots", "totalSnapshotsUsed", "maxTotalSnapshots"],
    ],
    limited: [],
  },
  network: {
    counted: [
      ["floating_ips", "totalFloatingIpsUsed", "maxTotalFloatingIps"],
      ["security_groups", "totalSecurityGroupsUsed", "maxSecurityGroups"],
    ],
    limited: [["security_group_rules", "maxSecurityGroupRules"]],
  },
};

export function quotas(usage, units) {
  const written = (unit) => (amount) => (unit ? size(amount, units[unit]) : number(amount));
  const readings = ([name, used, limit, unit]) => ({
    name,
    label: t(`quota.${name}`),
    used: whole(usage[used]),
    limit: whole(usage[limit]),
    written: written(unit),
  });
  const groups = Object.entries(GROUPS).map(([name, { counted, limited }]) => {
    const limits = limited.map(([limit, field, unit]) => [limit, whole(usage[field]), written(unit)]);
    return { name, counted: counted.map(readings), limits };
  });
  return [
    attention(groups.flatMap(({ counted }) => counted)),
    h("div", { class: "quota-groups" }, groups.map(shownGroup)),
  ];
}

function shownGroup({ name, counted, limits }) {
  const id = newId("group");
  return h(
    "section",
    { class: `quota-group ${name}`, "aria-labelledby": id },
    h("h3", { id }, t(`quotas.${name}`)),
    h("ul", { class: "gauges" }, counted.map(gauge)),
    limits.length > 0 &&
      h("div", {}, h("h4", {}, t("quotas.limits")), h("dl", { class: "limits" }, limits.map(shownLimit))),
  );
}

function shownLimit([name, limit, written]) {
  const text = limit < 0n ? t("quota.unlimited") : written(limit);
  return h("div", { "data-quota": name }, h("dt", {}, t(`quota.${name}`)), h("dd", {}, text));
}

// What needs a look is named first, so that nobody has to go through all gauges.
function attention(readings) {
  const named = (...states) =>
    readings.filter(({ used, limit }) => states.includes(stateOf(used, limit))).map(({ label }) => label);
  const line = (kind, names) =>
    names.length > 0 && h("li", { class: kind }, t(`quotas.${kind}`, { names: names.join(t("list.comma")) }));
  const lines = [line("over", named("over")), line("near", named("full", "near"))].filter(Boolean);
  if (lines.length === 0) return h("p", { class: "attention fine" }, t("quotas.fine"));
  return h("ul", { class: "attention" }, lines);
}

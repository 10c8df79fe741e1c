// How many more instances of a flavor the quotas allow.

import { toBigInt } from "../../core/numbers.js";

// Usage and limit fields of each quota that an instance uses, and how much of it.
const QUOTAS = [
  ["instances", "totalInstancesUsed", "maxTotalInstances", () => 1],
  ["cores", "totalCoresUsed", "maxTotalCores", (flavor) => flavor.vcpus],
  ["ram", "totalRAMUsed", "maxTotalRAMSize", (flavor) => flavor.ram],
];

// {count, quotas}: the quotas are those that allow no more than `count`, which is null if none is limited.
export function availability(flavor, usage) {
  let count = null;
  let quotas = [];
  for (const [name, used, limit, use] of QUOTAS) {
    const [needed, maximum] = [toBigInt(use(flavor)), toBigInt(usage[limit])];
    if (maximum < 0n || needed === 0n) continue;
    const free = maximum - toBigInt(usage[used]);
    const fits = free > 0n ? free / needed : 0n;
    if (count === null || fits < count) [count, quotas] = [fits, [name]];
    else if (fits === count) quotas.push(name);
  }
  return { count, quotas };
}

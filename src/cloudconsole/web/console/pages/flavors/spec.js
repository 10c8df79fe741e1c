// A flavor's cores, RAM and system disk in one line.

import { formatNumber, t } from "../../core/i18n.js";
import { formatSize } from "../../core/numbers.js";

export function flavorSpec({ vcpus, ram, disk }, units) {
  return [
    coresText(vcpus),
    t("flavor.ram_text", { size: formatSize(ram, units.ram) }),
    disk === 0 ? t("flavor.no_disk") : t("flavor.disk_text", { size: formatSize(disk, units.disk) }),
  ].join(" · ");
}

export function coresText(cores) {
  return cores === 1 ? t("flavors.core") : t("flavors.n_cores", { count: formatNumber(cores) });
}

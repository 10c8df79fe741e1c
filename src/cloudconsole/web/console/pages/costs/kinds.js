// Names of the kinds of resources.

import { t } from "../../core/i18n.js";

const KINDS = ["instance", "image", "loadbalance", "volume"];

export function kindName(type) {
  return KINDS.includes(type) ? t(`resource.${type}`) : type;
}

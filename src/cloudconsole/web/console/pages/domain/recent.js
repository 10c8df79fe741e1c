// IDs of recent successful lookups in this tab, newest first.

import { tabValue } from "../../core/tab_storage.js";

const MAX_IDS = 5;
const stored = tabValue("domains");

export function recentIds() {
  const ids = stored.read();
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string").slice(0, MAX_IDS) : [];
}

export function addRecent(id) {
  stored.write([id, ...recentIds().filter((each) => each !== id)].slice(0, MAX_IDS));
}

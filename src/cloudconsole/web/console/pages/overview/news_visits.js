// Which news is new since the reader's last visit. A visit ends after half an hour without the overview.

import { account } from "../../core/session.js";
import * as storage from "../../core/storage.js";

const STORAGE_KEY = "news";
const VISIT_MS = 30 * 60_000;
// Enough for everything that can be new; a bound on what is stored.
const MAX_ITEMS = 200;

// Return whether an item is new, as a function. On a first visit, nothing is.
export function visit(items) {
  const keys = items.slice(0, MAX_ITEMS).map(keyOf);
  const { username } = account() ?? {};
  const stored = storage.read(STORAGE_KEY);
  const now = Date.now();
  const before = stored?.username === username ? seenBefore(stored, now) : keys;
  storage.write(STORAGE_KEY, { username, at: now, seen: keys, before });
  const known = new Set(before);
  const isRecent = new Set(keys);
  return (item) => isRecent.has(keyOf(item)) && !known.has(keyOf(item));
}

// What was known when the present visit began.
function seenBefore({ at, seen, before }, now) {
  const isSameVisit = now >= at && now - at < VISIT_MS;
  const keys = isSameVisit ? before : seen;
  return Array.isArray(keys) ? keys : [];
}

function keyOf({ date, url }) {
  return `${date} ${url}`;
}

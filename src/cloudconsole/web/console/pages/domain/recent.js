// IDs of recent successful lookups in this tab, newest first, cleared when the session ends. They are stored with the
// sign-in's ID, because a tab may miss that another one signed out and in.

import { account, onSessionChange } from "../../core/session.js";

const STORAGE_KEY = "cloudconsole.domains";
const MAX_IDS = 5;

export function recentIds() {
  try {
    const { accountId, ids } = JSON.parse(sessionStorage.getItem(STORAGE_KEY));
    return accountId === account()?.id ? ids.filter((id) => typeof id === "string").slice(0, MAX_IDS) : [];
  } catch {
    return [];
  }
}

export function addRecent(id) {
  try {
    const ids = [id, ...recentIds().filter((each) => each !== id)].slice(0, MAX_IDS);
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ accountId: account()?.id, ids }));
  } catch {
    // Without storage there are no recent lookups.
  }
}

onSessionChange(() => {
  try {
    sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // Storage is denied, so nothing was stored.
  }
});

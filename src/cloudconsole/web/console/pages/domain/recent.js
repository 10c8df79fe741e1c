// The ids that were looked up in this tab and found, newest first; gone with the session.

import { onSession } from "../../core/session.js";

const KEPT = "cloudconsole.domains";
const MOST = 5;

export function recent() {
  try {
    const ids = JSON.parse(sessionStorage.getItem(KEPT));
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function remember(id) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify([id, ...recent().filter((each) => each !== id)].slice(0, MOST)));
  } catch {
    // A browser that keeps nothing only offers nothing.
  }
}

// Whoever signs in next may be somebody else.
onSession(() => {
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // Then nothing was kept, either.
  }
});

// The ids that were looked up in this tab and found, newest first; gone with the session. They say whose they are: a
// tab may have been elsewhere when another one signed out and in.

import { account, onSession } from "../../core/session.js";

const KEPT = "cloudconsole.domains";
const MOST = 5;

export function recent() {
  try {
    const { whose, ids } = JSON.parse(sessionStorage.getItem(KEPT));
    return whose === account()?.id ? ids.filter((id) => typeof id === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function remember(id) {
  try {
    const ids = [id, ...recent().filter((each) => each !== id)].slice(0, MOST);
    sessionStorage.setItem(KEPT, JSON.stringify({ whose: account()?.id, ids }));
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

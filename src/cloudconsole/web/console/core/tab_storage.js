// Values of this tab, in session storage until the session ends. They are stored with the sign-in's ID, because a tab
// may miss that another one signed out and in.

import { account, onSessionChange } from "./session.js";

const PREFIX = "cloudconsole.";

// Returns {read, write}; `read` returns null without a value.
export function tabValue(name) {
  const key = PREFIX + name;
  onSessionChange(() => {
    try {
      sessionStorage.removeItem(key);
    } catch {
      // Storage is denied, so nothing was stored.
    }
  });
  return {
    read() {
      try {
        const { accountId, value } = JSON.parse(sessionStorage.getItem(key));
        return accountId === account()?.id ? value : null;
      } catch {
        return null;
      }
    },
    write(value) {
      try {
        sessionStorage.setItem(key, JSON.stringify({ accountId: account()?.id, value }));
      } catch {
        // Without storage nothing is remembered.
      }
    },
  };
}

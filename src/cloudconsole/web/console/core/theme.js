// The theme: the system's, or the one chosen here. Before the first paint, ../../theme.js has set it already.

import * as kept from "./storage.js";

const KEPT = "theme";
export const THEMES = ["system", "light", "dark"];

const listeners = new Set();

export function theme() {
  const choice = kept.read(KEPT);
  return THEMES.includes(choice) ? choice : "system";
}

export function dress(choice) {
  kept.write(KEPT, choice === "system" ? null : choice);
  apply();
}

export function onTheme(listener) {
  listeners.add(listener);
}

function apply() {
  if (theme() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

kept.onWrittenElsewhere(KEPT, apply);

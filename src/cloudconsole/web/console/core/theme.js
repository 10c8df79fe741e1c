// The color theme: light, dark or the system's. ../../theme.js applies the stored choice before the first paint.

import * as storage from "./storage.js";

const STORAGE_KEY = "theme";
export const THEMES = ["system", "light", "dark"];

const listeners = new Set();

export function theme() {
  const stored = storage.read(STORAGE_KEY);
  return THEMES.includes(stored) ? stored : "system";
}

export function setTheme(choice) {
  storage.write(STORAGE_KEY, choice === "system" ? null : choice);
  applyTheme();
}

export function onThemeChange(listener) {
  listeners.add(listener);
}

function applyTheme() {
  if (theme() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

storage.onExternalChange(STORAGE_KEY, applyTheme);

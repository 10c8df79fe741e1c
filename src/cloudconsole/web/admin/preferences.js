// Language and theme. Local storage shares the choices with the tenant console, which the server cannot see.

import * as storage from "../console/core/storage.js";
import { onThemeChange, setTheme, theme } from "../console/core/theme.js";
import { icon } from "../console/shell/icons.js";

const LANGUAGE_KEY = "language";
const SENT_KEY = "cloudconsole.language-sent";

const languages = document.querySelector(".language-choice");
languages.addEventListener("click", ({ target }) => {
  if (target.value) storage.write(LANGUAGE_KEY, target.value);
});
followChoice();

const themes = [...document.querySelectorAll(".theme-choice button")];
for (const button of themes) {
  button.append(icon(button.value));
  button.addEventListener("click", () => setTheme(button.value));
}
onThemeChange(showTheme);
showTheme();

function showTheme() {
  for (const button of themes) button.setAttribute("aria-pressed", String(button.value === theme()));
}

// Use the language chosen in the tenant console. The result of a form stays as it is: a reload would send it again.
async function followChoice() {
  const chosen = storage.read(LANGUAGE_KEY);
  const isKnown = [...languages.elements].some((button) => button.name === "language" && button.value === chosen);
  if (!isKnown || chosen === document.documentElement.lang) {
    setSent(null);
    return;
  }
  // Without cookies the server cannot follow: try once.
  if (!("followsChoice" in languages.dataset) || sessionStorage.getItem(SENT_KEY) === chosen) return;
  setSent(chosen);
  const response = await fetch(languages.action, {
    method: "POST",
    body: new URLSearchParams({ language: chosen }),
    redirect: "manual",
  });
  if (response.type === "opaqueredirect") location.reload();
}

function setSent(language) {
  if (language === null) sessionStorage.removeItem(SENT_KEY);
  else sessionStorage.setItem(SENT_KEY, language);
}

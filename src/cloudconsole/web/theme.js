// Apply the stored theme before the first paint: a classic script in the head, before the stylesheets.
// The value is JSON, "light" or "dark"; anything else means the system theme.
(() => {
  try {
    const choice = JSON.parse(localStorage.getItem("cloudconsole.theme"));
    if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
  } catch {
    // Storage is denied or holds invalid JSON: use the system theme.
  }
})();

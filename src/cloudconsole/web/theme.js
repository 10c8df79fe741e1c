// The theme that was chosen here before, set ahead of the first paint: in a page's head, not a module, before styles.
// Kept as JSON, "light" or "dark"; anything else, or nothing, is the system's choice.
(() => {
  try {
    const choice = JSON.parse(localStorage.getItem("cloudconsole.theme"));
    if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
  } catch {
    // Storage may be forbidden, or hold something else: then the system's choice it is.
  }
})();

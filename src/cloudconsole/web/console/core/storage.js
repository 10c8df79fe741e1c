// localStorage with a fallback to memory where storage is unavailable.

const PREFIX = "cloudconsole.";
const fallback = new Map();

export function read(name) {
  if (fallback.has(name)) return fallback.get(name);
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export function write(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
    fallback.delete(name);
  } catch {
    // Storage is full or denied.
    fallback.set(name, value);
  }
}

// Call the listener when another tab changes this value.
export function onExternalChange(name, listener) {
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + name || event.key === null) listener();
  });
}

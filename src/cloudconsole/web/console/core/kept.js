// What this browser keeps between visits; one that keeps nothing is fine, too.

const PREFIX = "cloudconsole.";

export function read(name) {
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
  } catch {
    // Storage may be full or forbidden: then it is only forgotten earlier.
  }
}

// Call back when another tab has written this.
export function onWrittenElsewhere(name, listener) {
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + name || event.key === null) listener();
  });
}

// What this browser keeps between visits; where it keeps nothing, it is remembered for as long as the page is there.

const PREFIX = "cloudconsole.";
const remembered = new Map();

export function read(name) {
  if (remembered.has(name)) return remembered.get(name);
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
    remembered.delete(name);
  } catch {
    // Storage may be full or forbidden: then it is only forgotten earlier.
    remembered.set(name, value);
  }
}

// Call back when another tab has written this.
export function onWrittenElsewhere(name, listener) {
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + name || event.key === null) listener();
  });
}

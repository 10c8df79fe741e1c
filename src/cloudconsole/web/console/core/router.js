// Which page an address means: #/ is the first, #/flavors?search=m1 another, #/domain/206813 one with something more.

const listeners = new Set();

// What the address says: {path, rest, query}; a path of null where it cannot be read.
export function whereWeAre() {
  const [, path, rest, query] = /^#?\/?([^/?]*)(?:\/([^?]*?)\/?)?(?:\?(.*))?$/s.exec(location.hash);
  try {
    return { path: decodeURIComponent(path), rest: decodeURIComponent(rest ?? ""), query: new URLSearchParams(query) };
  } catch {
    return { path: null, rest: "", query: new URLSearchParams() };
  }
}

// Go to a path such as "flavors" or "domain/206813", written as in an address; to the same one again shows it anew.
export function go(path) {
  const before = location.hash;
  location.hash = `#/${path}`;
  if (location.hash === before) arrive();
}

// Keep what was chosen on this page in its address: back and reload come to it, but nothing is shown anew.
export function keep(query) {
  const [page] = (location.hash || "#/").split("?");
  const written = new URLSearchParams(query).toString();
  history.replaceState(history.state, "", written ? `${page}?${written}` : page);
}

// Let the address lead to the first page, without going there yet.
export function forget() {
  history.replaceState(history.state, "", "#/");
}

// Listeners are called after each coming to another page, whether by a link, a button or the way back.
export function onArrival(listener) {
  listeners.add(listener);
}

function arrive() {
  // Where one has been before, the browser scrolls back to where one was.
  if (history.state === null) {
    history.replaceState("been here", "");
    scrollTo(0, 0);
  }
  for (const listener of listeners) listener();
}

addEventListener("hashchange", arrive);
if (history.state === null) history.replaceState("been here", "");

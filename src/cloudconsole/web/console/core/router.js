// Hash routing: #/ is the overview, #/flavors?search=m1 has a query, #/domain/206813 a parameter.

const VISITED = "visited";
const listeners = new Set();

// The current route as {path, parameter, query}; path is null if the hash cannot be decoded.
export function currentRoute() {
  const [, path, parameter, query] = /^#?\/?([^/?]*)(?:\/([^?]*?)\/?)?(?:\?(.*))?$/s.exec(location.hash);
  try {
    return {
      path: decodeURIComponent(path),
      parameter: decodeURIComponent(parameter ?? ""),
      query: new URLSearchParams(query),
    };
  } catch {
    return { path: null, parameter: "", query: new URLSearchParams() };
  }
}

// Navigate to an encoded path such as "flavors" or "domain/206813". The current path is rendered again.
export function navigate(path) {
  const before = location.hash;
  location.hash = `#/${path}`;
  if (location.hash === before) notify();
}

// Store page state in the URL, for reload and links, without rendering the page again.
export function replaceQuery(query) {
  history.replaceState(history.state, "", withQuery(query));
}

// The same, in a new entry of the history: Back returns to the present state.
export function pushQuery(query) {
  history.pushState(VISITED, "", withQuery(query));
}

function withQuery(query) {
  const [path] = (location.hash || "#/").split("?");
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

// Set the URL to the overview without navigating.
export function resetRoute() {
  history.replaceState(history.state, "", "#/");
}

// Listeners are called after each navigation with {isVisited}, which is true for back and forward.
export function onNavigate(listener) {
  listeners.add(listener);
}

function notify() {
  // For entries visited before, the browser restores the scroll position.
  const isVisited = history.state !== null;
  if (!isVisited) {
    history.replaceState(VISITED, "");
    scrollTo(0, 0);
  }
  for (const listener of listeners) listener({ isVisited });
}

addEventListener("hashchange", notify);
if (history.state === null) history.replaceState(VISITED, "");

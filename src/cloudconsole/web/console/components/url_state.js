// Page state in the URL query, so that reload, the back button and links restore it.

export function urlState(route) {
  const query = new URLSearchParams(route.query);
  return {
    get: (name) => query.get(name) ?? "",
    // Set several values; empty ones are removed from the URL.
    set(values) {
      for (const [name, value] of Object.entries(values)) {
        if (value === "" || value === null) query.delete(name);
        else query.set(name, value);
      }
      route.replaceQuery(new URLSearchParams(query));
    },
  };
}

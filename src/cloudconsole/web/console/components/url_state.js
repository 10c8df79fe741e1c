// Page state in the URL query, so that reload, the back button and links restore it.

export function urlState(route) {
  let query = new URLSearchParams(route.query);

  function change(values) {
    for (const [name, value] of Object.entries(values)) {
      if (value === "" || value === null) query.delete(name);
      else query.set(name, value);
    }
  }

  return {
    get: (name) => query.get(name) ?? "",
    // Set several values; empty ones are removed from the URL.
    set(values) {
      change(values);
      route.replaceQuery(query);
    },
    // The same, as a step that Back undoes.
    push(values) {
      const before = query.toString();
      change(values);
      if (query.toString() !== before) route.pushQuery(query);
    },
    // Listeners apply the state that Back or Forward returned to. Without any, the page is rendered again.
    onReturn(listener) {
      route.onReturn((returned) => {
        query = new URLSearchParams(returned);
        listener();
      });
    },
  };
}

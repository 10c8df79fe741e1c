// What was chosen on a page, kept in its address: a reload, the way back and a link find it again.

export function asked(place) {
  const query = new URLSearchParams(place.query);
  return {
    get: (name) => query.get(name) ?? "",
    // Several at once; empty ones are left out of the address.
    set(values) {
      for (const [name, value] of Object.entries(values)) {
        if (value === "" || value === null) query.delete(name);
        else query.set(name, value);
      }
      place.keep(new URLSearchParams(query));
    },
  };
}

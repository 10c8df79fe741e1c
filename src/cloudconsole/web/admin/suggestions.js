// Search for names while typing, and offer them in the field's list. Without this, the list has the first names.

const WAIT = 150;

export async function find(entity, text, isEnabled = false) {
  const query = new URLSearchParams({ entity, text, ...(isEnabled && { enabled: "on" }) });
  const response = await fetch(`/admin/suggest/?${query}`, { redirect: "error" });
  return response.ok ? response.json() : [];
}

// An input without a list has no suggestions for now.
export function suggest(input, entity, { isEnabled = false, found = () => {} } = {}) {
  let latest = 0;
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    const number = ++latest;
    if (!input.list) return;
    timer = setTimeout(async () => {
      const results = await find(entity, input.value, isEnabled).catch(() => null);
      // Without a response, or after further input, the list stays.
      if (!results || number !== latest || !input.list) return;
      input.list.replaceChildren(...results.map(({ name }) => Object.assign(document.createElement("option"), { value: name })));
      found(results);
    }, WAIT);
  });
}

for (const input of document.querySelectorAll("input[data-suggests]")) {
  suggest(input, input.dataset.suggests, { isEnabled: "enabled" in input.dataset });
}

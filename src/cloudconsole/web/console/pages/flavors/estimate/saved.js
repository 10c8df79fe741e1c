// The estimate of this tab: it stays when the reader leaves the page and returns by a link that has none.

import { tabValue } from "../../../core/tab_storage.js";

const saved = tabValue("estimate");
const NAMES = ["items", "node"];

export function saveEstimate(state) {
  saved.write(NAMES.map((name) => state.get(name)));
}

export function restoreEstimate(state) {
  const values = saved.read();
  if (state.get("items") || !Array.isArray(values) || !values[0]) return;
  state.set({ items: String(values[0]), node: state.get("node") || String(values[1]) });
}

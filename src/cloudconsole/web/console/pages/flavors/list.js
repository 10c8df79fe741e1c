// All flavors: searched by name or id, sorted by any column.

import { h, newId, replace } from "../../core/dom.js";
import { language, number, t } from "../../core/i18n.js";
import { announce } from "../../components/announce.js";
import { COLUMNS, flavorTable } from "./table.js";

const TEXTS = ["name", "id"];
const PAUSE_MS = 250;

export function allFlavors({ flavors }, units, choice) {
  const id = newId("all");
  const place = h("div", { class: "all-table" });
  const count = h("p", { class: "count quiet" });
  let sort = COLUMNS.includes(choice.get("sort")) ? choice.get("sort") : "";
  let isDown = choice.get("order") === "down";
  let words = choice.get("find");
  let saying = null;

  function draw() {
    const rows = found(flavors, words).sort(order(sort, isDown));
    replace(count, told(rows.length));
    const isNone = rows.length === 0;
    const table = () => flavorTable(rows, units, { caption: t("flavors.all"), heading: sortButton, attributes });
    replace(place, isNone ? h("p", { class: "nothing" }, t("flavors.no_find")) : table());
  }

  function told(matches) {
    return t(words ? "flavors.matches" : "flavors.count", { count: number(matches), all: number(flavors.length) });
  }

  function keep() {
    choice.set({ find: words, sort, order: sort && isDown ? "down" : "" });
  }

  function sortBy(column) {
    [isDown, sort] = [sort === column && !isDown, column];
    keep();
    draw();
    place.querySelector(`.of-${column} button`).focus();
    announce(t(isDown ? "flavors.sorted.down" : "flavors.sorted.up", { column: t(`flavor.${column}`) }));
  }

  function sortButton(column) {
    const sign = column !== sort ? "↕" : isDown ? "↓" : "↑";
    const button = { type: "button", class: "sort", onclick: () => sortBy(column) };
    return h("button", button, t(`flavor.${column}`), h("span", { "aria-hidden": "true" }, sign));
  }

  function attributes(column) {
    return { "aria-sort": column === sort ? (isDown ? "descending" : "ascending") : null };
  }

  // One who types is told how many there are when a pause comes, not at each letter.
  function find(event) {
    words = event.target.value.trim();
    draw();
    clearTimeout(saying);
    saying = setTimeout(() => {
      // Whoever has gone on to another page leaves that one's address alone.
      if (!place.isConnected) return;
      keep();
      announce(count.textContent);
    }, PAUSE_MS);
  }

  draw();
  const field = newId("find");
  const manners = { autocomplete: "off", autocapitalize: "none", spellcheck: "false" };
  const input = h("input", { type: "search", id: field, value: words, oninput: find, ...manners });
  return h(
    "section",
    { class: "card all-flavors", "aria-labelledby": id },
    h("h2", { id }, t("flavors.all")),
    flavors.length === 0
      ? h("p", { class: "nothing" }, t("flavors.nothing"))
      : [h("div", { class: "find" }, h("label", { for: field }, t("flavors.find")), input, count), place],
  );
}

function found(flavors, words) {
  const wanted = words.toLowerCase();
  return flavors.filter(({ name, id }) => name.toLowerCase().includes(wanted) || id.toLowerCase().includes(wanted));
}

// Texts as people count in them, 2C before 16C; equal ones stay as the console has them.
function order(sort, isDown) {
  if (!sort) return () => 0;
  const { compare } = new Intl.Collator(language(), { numeric: true });
  const byText = (one, other) => compare(one[sort], other[sort]);
  const rising = TEXTS.includes(sort) ? byText : (one, other) => one[sort] - other[sort];
  return isDown ? (one, other) => rising(other, one) : rising;
}

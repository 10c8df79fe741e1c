// Pinned announcements, at the top of every page until they are dismissed. The last ones are stored, so that they are
// shown at once and the page does not move when they are loaded again.

import { announce } from "../components/announce.js";
import { byLanguage, hasAnnouncements, loadAnnouncements, onAnnouncements } from "../core/announcements.js";
import { externalLink, h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { callScope } from "../core/session.js";
import * as storage from "../core/storage.js";
import { formatDate } from "../core/time.js";
import { icon } from "./icons.js";

const PINNED_KEY = "pinned";
const DISMISSED_KEY = "dismissed";
const MAX_SHOWN = 3;
const MAX_AGE_MS = 5 * 60_000;

let banner = null;
let loadedAt = -Infinity;

// Show what is known, and load the announcements if that was long ago.
export function renderBanner(element) {
  banner = element;
  show();
  if (performance.now() - loadedAt > MAX_AGE_MS) refresh().catch(() => {});
}

async function refresh() {
  const scope = callScope();
  const isOn = await hasAnnouncements();
  if (callScope() !== scope) return;
  if (isOn) await loadAnnouncements();
  else update([]);
}

export function clearBanner() {
  if (banner) replace(banner);
  [banner, loadedAt] = [null, -Infinity];
}

function show() {
  const dismissed = list(DISMISSED_KEY);
  const [own, others] = byLanguage(list(PINNED_KEY).filter(isItem));
  // One that exists in the other language only is still important.
  const items = (own.length > 0 ? own : others).filter((item) => !dismissed.includes(keyOf(item)));
  const label = t("banner.label");
  replace(
    banner,
    items.length > 0 && h("section", { "aria-label": label }, h("ul", {}, items.slice(0, MAX_SHOWN).map(notice))),
  );
}

function notice(item) {
  const { date, url, title, language } = item;
  const button = h("button", { type: "button", class: "plain", onclick: () => dismiss(item) }, icon("close"));
  button.setAttribute("aria-label", t("banner.dismiss", { title }));
  button.title = t("banner.dismiss.title");
  return h(
    "li",
    { class: "pinned-notice" },
    icon("notice"),
    h(
      "p",
      {},
      h("strong", { lang: language }, externalLink(url, h("bdi", {}, title))),
      " ",
      h("time", { datetime: date.replace(" ", "T") }, formatDate(date)),
    ),
    button,
  );
}

function dismiss(item) {
  storage.write(DISMISSED_KEY, [...list(DISMISSED_KEY), keyOf(item)]);
  show();
  announce(t("banner.dismissed"));
  (banner.querySelector("button") ?? document.querySelector("main")).focus({ preventScroll: true });
}

// What is changed is no longer dismissed.
function keyOf({ id, date, url, title }) {
  return JSON.stringify([id, date, url, title]);
}

function list(name) {
  const stored = storage.read(name);
  return Array.isArray(stored) ? stored : [];
}

function isItem(item) {
  return [item?.date, item?.url, item?.title].every((each) => typeof each === "string");
}

function update(items) {
  loadedAt = performance.now();
  const pinned = items.filter((item) => item.pinned);
  const keys = pinned.map(keyOf);
  const dismissed = list(DISMISSED_KEY);
  storage.write(PINNED_KEY, pinned.length > 0 ? pinned : null);
  if (!dismissed.every((key) => keys.includes(key))) {
    storage.write(DISMISSED_KEY, dismissed.filter((key) => keys.includes(key)));
  }
  if (banner) show();
}

onAnnouncements(update);
for (const name of [PINNED_KEY, DISMISSED_KEY]) {
  storage.onExternalChange(name, () => {
    if (banner) show();
  });
}

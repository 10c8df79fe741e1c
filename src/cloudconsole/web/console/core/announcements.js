// The console's announcements, newest first. The banner and the news panel share a request.

import { language } from "./i18n.js";
import { call, CallCancelled, callScope, serviceInfo } from "./session.js";

const ACTION = "GetAnnouncements";

const listeners = new Set();
let pending = null;

// Load the announcements. Consoles without the extension return news, without a language and not pinned.
export function loadAnnouncements() {
  const scope = callScope();
  if (pending?.scope !== scope) {
    const promise = load(scope).finally(() => {
      if (pending?.promise === promise) pending = null;
    });
    pending = { scope, promise };
  }
  return pending.promise;
}

// Listeners receive the announcements whenever they are loaded.
export function onAnnouncements(listener) {
  listeners.add(listener);
}

// Whether announcements can be pinned, or have a language.
export async function hasAnnouncements() {
  const { extensions = [] } = await serviceInfo();
  return extensions.includes(ACTION);
}

// The announcements for readers of the page's language, and the others.
export function byLanguage(items) {
  const isOwn = (item) => item.language === null || item.language === language();
  return [items.filter(isOwn), items.filter((item) => !isOwn(item))];
}

async function load(scope) {
  const isOn = await hasAnnouncements();
  if (callScope() !== scope) throw new CallCancelled();
  const items = isOn ? await call(ACTION).catch(orNews) : await news();
  for (const listener of listeners) listener(items);
  return items;
}

// During an upgrade, not every server may have the action.
function orNews(error) {
  if (error.error !== "unknown_action") throw error;
  return news();
}

async function news() {
  const items = await call("GetNews");
  return items.map((item) => ({ ...item, id: null, language: null, pinned: false }));
}

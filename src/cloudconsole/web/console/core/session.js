// Who is signed in here. Of calls that come together, the first goes alone: only once it has shown that the session
// lives do the others follow, and once one is refused, none is sent any more. An ended session costs one refusal.

import { act, logIn, logOut, welcome } from "./api.js";
import * as kept from "./storage.js";

const ACCOUNT = "account";
// How long the other calls wait for the first one: a slow action does not hold up all panels.
const PATIENCE = 1500;

// What a call gets that was not sent, or whose answer nobody waits for any more.
export class SignedOut extends Error {}

const listeners = new Set();
let about = null;
let isLeaving = false;
// The stay of one account on one page: every call belongs to one, and goes when it goes. Null if nobody is in.
let stay = account() && newStay(account().id);

// The name and region of the last sign-in, for showing; null where nobody is known to be signed in.
export function account() {
  const last = kept.read(ACCOUNT);
  return ["id", "username", "region"].every((name) => typeof last?.[name] === "string") ? last : null;
}

export function isSignedIn() {
  return stay !== null;
}

// What the console says of itself: regions, currency, units, time zone.
export function consoleFacts() {
  about ??= welcome().catch((problem) => {
    about = null;
    throw problem;
  });
  return about;
}

// Listeners get {isIn, hasEnded}: whether somebody is signed in now, and whether a session ended that was there.
export function onSession(listener) {
  listeners.add(listener);
}

// Another page is come to: nobody waits for the calls of the last one any more.
export function turnThePage() {
  settle();
  if (stay === null) return;
  stay.dropped.abort();
  stay = newStay(stay.id);
}

// The data of an action. Throws Refused, or SignedOut where nobody waits for it any more.
export async function call(action, fields = {}) {
  const mine = stay;
  holds(mine);
  mine.underWay += 1;
  try {
    const data = await inTurn(mine, () => act(action, fields, mine.dropped.signal));
    holds(mine);
    return data;
  } catch (problem) {
    holds(mine);
    if (problem.error !== "login_required") throw problem;
    kept.write(ACCOUNT, null);
    end(!isLeaving);
    throw new SignedOut();
  } finally {
    mine.underWay -= 1;
    if (mine.underWay === 0) [mine.isProven, mine.proof] = [false, null];
  }
}

export async function signIn({ username, password, region }) {
  await logIn({ username, password, region });
  const id = `${Date.now()}-${Math.random()}`;
  kept.write(ACCOUNT, { username, region, id });
  begin(id, true);
}

// Throws Refused where the console could not be told; then one is still signed in.
export async function signOut() {
  isLeaving = true;
  const before = account()?.id;
  try {
    await logOut();
  } catch (problem) {
    if (problem.error !== "login_required") throw problem;
  } finally {
    isLeaving = false;
  }
  if (account()?.id === before) kept.write(ACCOUNT, null);
  if (stay?.id === before) end(false);
}

function newStay(id, isProven = false) {
  return { id, isProven, proof: null, underWay: 0, dropped: new AbortController() };
}

// Send once the session is proven, or nobody else is proving it, or that takes too long.
async function inTurn(mine, send) {
  const patience = mine.proof && new Promise((resolve) => setTimeout(resolve, PATIENCE, "is over"));
  while (mine.proof !== null && !mine.isProven) {
    if ((await Promise.race([mine.proof, patience])) === "is over") break;
  }
  holds(mine);
  const answer = send();
  if (!mine.isProven) mine.proof ??= proving(mine, answer);
  return answer;
}

// Only a success proves anything: after any other answer, the next call in the row tries.
function proving(mine, answer) {
  return answer.then(
    () => void (mine.isProven = true),
    () => void (mine.proof = null),
  );
}

// An answer counts only while the one who asked is here, in this tab and in all others.
function holds(mine) {
  settle();
  if (mine === null || mine !== stay) throw new SignedOut();
}

function begin(id, isProven = false) {
  stay?.dropped.abort();
  stay = newStay(id, isProven);
  tell({ isIn: true, hasEnded: false });
}

function end(hasEnded) {
  stay?.dropped.abort();
  [stay, about] = [null, null];
  tell({ isIn: false, hasEnded });
}

function tell(news) {
  for (const listener of listeners) listener(news);
}

// Tabs share the session: who signs in or out in another one does so here.
function settle() {
  const id = account()?.id ?? null;
  if (id === (stay?.id ?? null)) return;
  if (id === null) end(!isLeaving);
  else begin(id);
}

kept.onWrittenElsewhere(ACCOUNT, settle);
// A tab that was frozen, or a page that a browser brought back as it was, may have missed it.
addEventListener("pageshow", settle);
document.addEventListener("visibilitychange", settle);

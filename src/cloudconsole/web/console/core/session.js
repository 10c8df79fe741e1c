// Who is signed in here. Until a first call has shown that somebody is, calls go one behind the other; once one is
// refused, none is sent any more: an ended session costs one refusal, not a storm of them.

import { act, logIn, logOut, welcome } from "./exchange.js";
import * as kept from "./kept.js";

const ACCOUNT = "account";
const UNKNOWN = "unknown", IN = "in", OUT = "out";

// What a call gets that was not sent, or whose answer nobody waits for any more.
export class SignedOut extends Error {}

const listeners = new Set();
let state = UNKNOWN;
let proving = null;
let about = null;
let calls = new AbortController();

// The name and region of the last sign-in, for showing; null where nobody is known to be signed in.
export function account() {
  return kept.read(ACCOUNT);
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

// The data of an action. Throws Refused, or SignedOut where the page goes back to the sign-in.
export async function call(action, fields = {}) {
  if (state === UNKNOWN && proving !== null) await proving;
  if (state === OUT) throw new SignedOut();
  const { signal } = calls;
  const answer = act(action, fields, signal);
  if (state === UNKNOWN) proving = answer.then(noteIn, noteRefused);
  try {
    return await answer;
  } catch (problem) {
    noteRefused(problem);
    if (state === OUT || signal.aborted) throw new SignedOut();
    throw problem;
  }
}

export async function signIn({ username, password, region }) {
  await logIn({ username, password, region });
  kept.write(ACCOUNT, { username, region, since: Date.now() });
  begin(IN);
}

export async function signOut() {
  try {
    await logOut();
  } catch (problem) {
    if (problem.error !== "login_required") throw problem;
  }
  end(false);
}

function noteIn() {
  if (state === UNKNOWN) state = IN;
  proving = null;
}

function noteRefused(problem) {
  if (problem.error === "login_required" && state !== OUT) end(account() !== null);
  // Any other refusal says nothing of the session: the others may try, too.
  else noteIn();
}

function begin(newState) {
  calls.abort();
  calls = new AbortController();
  [state, proving, about] = [newState, null, null];
  tell({ isIn: true, hasEnded: false });
}

function end(hasEnded) {
  [state, proving] = [OUT, null];
  calls.abort();
  kept.write(ACCOUNT, null);
  tell({ isIn: false, hasEnded });
}

function tell(news) {
  for (const listener of listeners) listener(news);
}

// Another tab shares the session: who signs in or out there does so here.
kept.onWrittenElsewhere(ACCOUNT, () => {
  if (account() !== null) begin(UNKNOWN);
  else if (state !== OUT) end(false);
});

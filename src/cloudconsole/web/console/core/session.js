// The signed-in account and its API calls. Of concurrent calls the first is sent alone; the others follow once it
// succeeds, and are cancelled if the session has ended. An ended session therefore costs one rejected request.

import { callAction, fetchServiceInfo, login, logout } from "./api.js";
import * as storage from "./storage.js";

const ACCOUNT_KEY = "account";
// How long other calls wait for the first one, so that a slow action does not delay all panels.
const MAX_WAIT_MS = 1500;

// Thrown by calls that were not sent or whose result is no longer needed.
export class CallCancelled extends Error {}

const listeners = new Set();
let info = null;
let isSigningOut = false;
// Every call belongs to the scope of one account on one page and is aborted with it. Null when signed out.
let current = account() && newScope(account().id);

// The name and region of the last sign-in, for display; null when signed out.
export function account() {
  const stored = storage.read(ACCOUNT_KEY);
  return ["id", "username", "region"].every((name) => typeof stored?.[name] === "string") ? stored : null;
}

export function isSignedIn() {
  return current !== null;
}

// Regions, currency, units and time zone of the console; cached for the session.
export function serviceInfo() {
  info ??= fetchServiceInfo().catch((error) => {
    info = null;
    throw error;
  });
  return info;
}

// Listeners receive {isSignedIn, hasEnded}; hasEnded means that the session ended without signing out here.
export function onSessionChange(listener) {
  listeners.add(listener);
}

// The account and page to which calls belong now: a different object after each change of either.
export function callScope() {
  return current;
}

// Abort the calls of the previous page.
export function abortCalls() {
  syncWithStorage();
  if (current === null) return;
  current.aborter.abort();
  current = newScope(current.id);
}

// Call an action and return its data. Throws ApiError or CallCancelled.
export async function call(action, fields = {}) {
  const scope = current;
  requireCurrent(scope);
  scope.pending += 1;
  try {
    const data = await afterFirstCall(scope, () => callAction(action, fields, scope.aborter.signal));
    requireCurrent(scope);
    return data;
  } catch (error) {
    requireCurrent(scope);
    if (error.error !== "login_required") throw error;
    storage.write(ACCOUNT_KEY, null);
    endSession(!isSigningOut);
    throw new CallCancelled();
  } finally {
    scope.pending -= 1;
    if (scope.pending === 0) [scope.isValidated, scope.validation] = [false, null];
  }
}

// `project` is sent only if the console has asked for it.
export async function signIn({ username, password, region, project }) {
  await login({ username, password, region, ...(project && { project }) });
  const id = `${Date.now()}-${Math.random()}`;
  storage.write(ACCOUNT_KEY, { username, region, id });
  startSession(id, true);
}

// Throws ApiError if the request fails; the session then continues.
export async function signOut() {
  isSigningOut = true;
  const before = account()?.id;
  try {
    await logout();
  } catch (error) {
    if (error.error !== "login_required") throw error;
  } finally {
    isSigningOut = false;
  }
  if (account()?.id === before) storage.write(ACCOUNT_KEY, null);
  if (current?.id === before) endSession(false);
}

function newScope(id, isValidated = false) {
  return { id, isValidated, validation: null, pending: 0, aborter: new AbortController() };
}

// Send once the session is validated, no other call is validating it, or the wait is over.
async function afterFirstCall(scope, send) {
  const timeout = scope.validation && new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS, "timeout"));
  while (scope.validation !== null && !scope.isValidated) {
    if ((await Promise.race([scope.validation, timeout])) === "timeout") break;
  }
  requireCurrent(scope);
  const response = send();
  if (!scope.isValidated) scope.validation ??= validate(scope, response);
  return response;
}

// Only a success validates the session. After a failure the next call in the queue tries.
function validate(scope, response) {
  return response.then(
    () => void (scope.isValidated = true),
    () => void (scope.validation = null),
  );
}

// Discard results for an account that is no longer signed in, in this tab or another.
function requireCurrent(scope) {
  syncWithStorage();
  if (scope === null || scope !== current) throw new CallCancelled();
}

function startSession(id, isValidated = false) {
  current?.aborter.abort();
  current = newScope(id, isValidated);
  notify({ isSignedIn: true, hasEnded: false });
}

function endSession(hasEnded) {
  current?.aborter.abort();
  [current, info] = [null, null];
  notify({ isSignedIn: false, hasEnded });
}

function notify(change) {
  for (const listener of listeners) listener(change);
}

// Tabs share the session: apply a sign-in or sign-out of another tab.
function syncWithStorage() {
  const id = account()?.id ?? null;
  if (id === (current?.id ?? null)) return;
  if (id === null) endSession(!isSigningOut);
  else startSession(id);
}

storage.onExternalChange(ACCOUNT_KEY, syncWithStorage);
// Frozen tabs and pages restored from the back/forward cache miss storage events.
addEventListener("pageshow", syncWithStorage);
document.addEventListener("visibilitychange", syncWithStorage);

// One request to the interface and its answer. Nothing is repeated here but for a lost token, and that once.

import { language, t } from "./i18n.js";

const CALLS = "/api/";
const LOGIN = "/auth/login/";
const LOGOUT = "/auth/logout/";
const SESSION = "cloudconsole.session";
// Longer than the console itself takes for anything.
const LONGEST = 60_000;

let coming = null;

// What the interface refused, or that it could not be reached (code 0).
export class Refused extends Error {
  constructor(message, { code = 0, error = "unreachable", field = null, retryAfter = null, requestId = null } = {}) {
    super(message);
    Object.assign(this, { code, error, field, retryAfter, requestId });
  }
}

// What the console says of itself, with the cookies that everything else needs. One answer serves all who wait.
export function welcome() {
  coming ??= inTurn("shared", () => send(CALLS, {}).then(data)).finally(() => (coming = null));
  return coming;
}

export function act(action, fields, signal) {
  const body = JSON.stringify({ ...fields, action });
  return withToken(() => send(CALLS, { ...posted("application/json", body), signal }).then(data));
}

export async function logIn(fields) {
  await coming?.catch(() => {});
  return withToken(() =>
    inTurn("exclusive", () => {
      const form = new URLSearchParams({ ...fields, csrfmiddlewaretoken: token() });
      return send(LOGIN, posted("application/x-www-form-urlencoded", form.toString()));
    }),
  );
}

export function logOut() {
  return withToken(() => send(LOGOUT, posted("text/plain", "")));
}

// A welcome to somebody unknown, were it to come after the login, would take its cookie away again: of all tabs that
// share the cookies, one logs in, or some are welcomed. Each turn ends with its request, at the latest when that is
// given up. A page that came by plain http from another machine has no locks, and a browser may forbid them.
async function inTurn(mode, request) {
  let hasBegun = false;
  const begin = () => {
    hasBegun = true;
    return request();
  };
  try {
    return await navigator.locks.request(SESSION, { mode }, begin);
  } catch (problem) {
    if (hasBegun) throw problem;
    return request();
  }
}

function posted(type, body) {
  return { method: "POST", body, headers: { "Content-Type": type, "X-CSRFToken": token() } };
}

function token() {
  return /(?:^|;\s*)csrftoken=([0-9A-Za-z]+)/.exec(document.cookie)?.[1] ?? "";
}

// A browser may have lost the token that a session has: the console gives it again, once for all who miss it.
async function withToken(request) {
  try {
    return await request();
  } catch (problem) {
    if (problem.error !== "csrf_failed") throw problem;
  }
  await welcome();
  if (token() === "") throw new Refused(t("problem.cookies"), { code: 403, error: "csrf_failed" });
  return request();
}

async function send(path, { headers = {}, signal, ...options }) {
  const slow = AbortSignal.timeout(LONGEST);
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: { ...headers, "Accept-Language": language() },
      // An operator may have a login answered by a redirection; where to is of no use here.
      redirect: "manual",
      cache: "no-store",
      signal: signal ? AbortSignal.any([signal, slow]) : slow,
    });
  } catch (problem) {
    throw lost(problem);
  }
  if (response.ok || response.type === "opaqueredirect") return response;
  throw await refusal(response);
}

async function refusal(response) {
  const wait = Number(response.headers.get("Retry-After") ?? NaN);
  const told = {
    code: response.status,
    requestId: response.headers.get("X-Request-ID"),
    retryAfter: wait > 0 ? wait : null,
  };
  try {
    const { message, error, field } = await response.json();
    if (typeof message !== "string" || typeof error !== "string") return strange(told);
    return new Refused(message, { ...told, error, field });
  } catch {
    // A proxy in between answers in its own way.
    return strange(told);
  }
}

async function data(response) {
  let text;
  try {
    text = await response.text();
  } catch (problem) {
    throw lost(problem);
  }
  try {
    return parsed(text).data;
  } catch {
    throw strange({ code: response.status });
  }
}

// The way to the console broke; a call that nobody waits for any more keeps its own error.
function lost(problem) {
  return problem.name === "AbortError" ? problem : new Refused(t("problem.unreachable"));
}

function strange(told) {
  return new Refused(t("problem.strange", { code: told.code }), { ...told, error: "strange_answer" });
}

// Numbers that a browser's own cannot hold stay as they were written.
function parsed(text) {
  return JSON.parse(text, (_key, value, context) => {
    const isExact = typeof value !== "number" || Number.isSafeInteger(value) || String(value) === context?.source;
    return isExact || context?.source === undefined ? value : JSON.rawJSON?.(context.source) ?? context.source;
  });
}

// One request to the interface and its answer. Nothing is repeated here but for a lost token, and that once.

import { language, t } from "./language.js";

const CALLS = "/api/";
const LOGIN = "/auth/login/";
const LOGOUT = "/auth/logout/";

// What the interface refused, or that it could not be reached (code 0).
export class Refused extends Error {
  constructor(message, { code = 0, error = "unreachable", field = null, retryAfter = null, requestId = null } = {}) {
    super(message);
    Object.assign(this, { code, error, field, retryAfter, requestId });
  }
}

// What the console says of itself; it also gives the cookies that everything else needs.
export function welcome(signal) {
  return send(CALLS, { signal }).then(data);
}

export function act(action, fields, signal) {
  const body = JSON.stringify({ ...fields, action });
  return withToken(signal, () => send(CALLS, { ...posted("application/json", body), signal }).then(data));
}

export function logIn(fields) {
  return withToken(undefined, () => {
    const form = new URLSearchParams({ ...fields, csrfmiddlewaretoken: token() });
    return send(LOGIN, posted("application/x-www-form-urlencoded", form.toString()));
  });
}

export function logOut() {
  return withToken(undefined, () => send(LOGOUT, posted("text/plain", "")));
}

function posted(type, body) {
  return { method: "POST", body, headers: { "Content-Type": type, "X-CSRFToken": token() } };
}

function token() {
  return /(?:^|;\s*)csrftoken=([0-9A-Za-z]+)/.exec(document.cookie)?.[1] ?? "";
}

// A browser may have lost the token that a session has: the console gives it again.
async function withToken(signal, request) {
  try {
    return await request();
  } catch (problem) {
    if (problem.error !== "csrf_failed") throw problem;
  }
  await welcome(signal);
  return request();
}

async function send(path, { headers = {}, signal, ...options }) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: { ...headers, "Accept-Language": language() },
      // An operator may have a login answered by a redirection; where to is of no use here.
      redirect: "manual",
      cache: "no-store",
      signal,
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused(t("problem.unreachable"));
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
    return new Refused(message, { ...told, error, field });
  } catch {
    // A proxy in between answers in its own way.
    return new Refused(t("problem.strange", { code: response.status }), { ...told, error: "strange_answer" });
  }
}

async function data(response) {
  try {
    return parsed(await response.text()).data;
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused(t("problem.strange", { code: response.status }), { error: "strange_answer" });
  }
}

// Numbers that a browser's own cannot hold stay as they were written.
function parsed(text) {
  return JSON.parse(text, (_key, value, context) => {
    const isExact = typeof value !== "number" || Number.isSafeInteger(value) || String(value) === context?.source;
    return isExact || context?.source === undefined ? value : JSON.rawJSON?.(context.source) ?? context.source;
  });
}

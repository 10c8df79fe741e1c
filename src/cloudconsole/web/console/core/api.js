// HTTP client for the console's API. Requests are not retried, except once after a missing CSRF token.

import { language, t } from "./i18n.js";

const API_PATH = "/api/";
const LOGIN_PATH = "/auth/login/";
const LOGOUT_PATH = "/auth/logout/";
const SESSION_LOCK = "cloudconsole.session";
// Longer than any server-side timeout.
const TIMEOUT_MS = 60_000;
// A proxy's statuses for a console that is down or overloaded.
const UNAVAILABLE = [502, 503, 504];

let pendingInfo = null;

// An error response, or an unreachable console (code 0).
export class ApiError extends Error {
  constructor(message, { code = 0, error = "unreachable", field = null, retryAfter = null, requestId = null } = {}) {
    super(message);
    Object.assign(this, { code, error, field, retryAfter, requestId });
  }
}

// GET /api/: describes the console and sets the cookies that all other requests need. Concurrent calls share a request.
export function fetchServiceInfo() {
  const request = () => send(API_PATH, {}).then(readData);
  pendingInfo ??= withSessionLock("shared", request).finally(() => (pendingInfo = null));
  return pendingInfo;
}

export function callAction(action, fields, signal) {
  const body = JSON.stringify({ ...fields, action });
  return withCsrfRetry(() => send(API_PATH, { ...postOptions("application/json", body), signal }).then(readData));
}

export async function login(fields) {
  await pendingInfo?.catch(() => {});
  return withCsrfRetry(() =>
    withSessionLock("exclusive", () => {
      const form = new URLSearchParams({ ...fields, csrfmiddlewaretoken: csrfToken() });
      return send(LOGIN_PATH, postOptions("application/x-www-form-urlencoded", form.toString())).then(discardBody);
    }),
  );
}

export function logout() {
  return withCsrfRetry(() => send(LOGOUT_PATH, postOptions("text/plain", "")).then(discardBody));
}

// An anonymous GET /api/ whose response arrives after a login would replace the session cookie. Across all tabs, a
// login therefore excludes every GET /api/. The lock is released when the request ends or times out. Web Locks are
// missing on plain-http pages of other machines, and a browser may deny them.
async function withSessionLock(mode, request) {
  let hasStarted = false;
  const start = () => {
    hasStarted = true;
    return request();
  };
  try {
    return await navigator.locks.request(SESSION_LOCK, { mode }, start);
  } catch (error) {
    if (hasStarted) throw error;
    return request();
  }
}

function postOptions(type, body) {
  return { method: "POST", body, headers: { "Content-Type": type, "X-CSRFToken": csrfToken() } };
}

function csrfToken() {
  return /(?:^|;\s*)csrftoken=([0-9A-Za-z]+)/.exec(document.cookie)?.[1] ?? "";
}

// The browser may have dropped the CSRF cookie of a live session. GET /api/ sets it again.
async function withCsrfRetry(request) {
  try {
    return await request();
  } catch (error) {
    if (error.error !== "csrf_failed") throw error;
  }
  await fetchServiceInfo();
  if (csrfToken() === "") throw new ApiError(t("error.cookies"), { code: 403, error: "csrf_failed" });
  return request();
}

async function send(path, { headers = {}, signal, ...options }) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: { ...headers, "Accept-Language": language() },
      // A console may be configured to redirect after login. The target is irrelevant here.
      redirect: "manual",
      cache: "no-store",
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  } catch (error) {
    throw networkError(error);
  }
  if (response.ok || response.type === "opaqueredirect") return response;
  throw await responseError(response);
}

async function responseError(response) {
  const seconds = Number(response.headers.get("Retry-After") ?? NaN);
  const details = {
    code: response.status,
    requestId: response.headers.get("X-Request-ID"),
    retryAfter: seconds > 0 ? seconds : null,
  };
  try {
    const { message, error, field } = await response.json();
    if (typeof message !== "string" || typeof error !== "string") return invalidResponse(details);
    // The message has the number of seconds, which a countdown shows.
    const text = error === "too_many_requests" ? t("error.too_many_logins") : message;
    return new ApiError(text, { ...details, error, field });
  } catch {
    // Not JSON: the response of a proxy.
    return invalidResponse(details);
  }
}

// The browser reports a request as aborted if its body is never read.
async function discardBody(response) {
  await response.arrayBuffer().catch(() => {});
}

async function readData(response) {
  let text;
  try {
    text = await response.text();
  } catch (error) {
    throw networkError(error);
  }
  try {
    return parseExact(text).data;
  } catch {
    throw invalidResponse({ code: response.status });
  }
}

// Cancelled calls keep their AbortError.
function networkError(error) {
  return error.name === "AbortError" ? error : new ApiError(t("error.unreachable"));
}

export function invalidResponse(details) {
  const key = UNAVAILABLE.includes(details.code) ? "error.unavailable" : "error.invalid_response";
  return new ApiError(t(key, { code: details.code }), { ...details, error: "invalid_response" });
}

// Parse JSON; numbers that a JavaScript number cannot represent keep their source text.
function parseExact(text) {
  return JSON.parse(text, (_key, value, context) => {
    const isExact = typeof value !== "number" || Number.isSafeInteger(value) || String(value) === context?.source;
    return isExact || context?.source === undefined ? value : JSON.rawJSON?.(context.source) ?? context.source;
  });
}

"""Faults that violate our own documentation, each with the check that must catch it."""

import json
import socket
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode, urlsplit

from cloudconsole.conformance.client import ACTION_NAMES
from cloudconsole.conformance.extended.calls import ACCEPTED, REJECTED, Body
from tests.conformance import session_mutations as sessions
from tests.conformance.faulty_console import Exchange, Fault, Mutation
from tests.conformance.mutations import (
    cookie,
    data,
    envelope,
    is_logged_in,
    is_opening,
    is_rejected,
    merge,
    on,
    put,
    reject,
    request_header,
    respond_with,
    without_attributes,
)
from tests.harness import FORM, JSON

USAGE, FLAVORS, DOMAIN, NEWS = "GetUsageLimits", "GetFlavors", "GetDomainDetail", "GetNews"
URLS, COSTS = "GetUrlList", "GetConsumptionsEstimated"


def header(name: str, value: str | None) -> Mutation:
    return lambda exchange: exchange.set_header(name, value)


def make_unreadable(exchange: Exchange) -> None:
    exchange.body = b"\xff"


def error_field(**fields: Any) -> Mutation:
    """Replace fields in every error response of an action."""
    return on(is_rejected, merge(**fields))


def is_wrong_password(exchange: Exchange) -> bool:
    return exchange.is_login and exchange.status == 401 and exchange.fields["username"] == "demo"


def raise_price_per_day(items: list[dict[str, str]]) -> None:
    items[0]["day"] = str(Decimal(items[0]["day"]) + Decimal("0.01"))


def accept_json_login(exchange: Exchange) -> None:
    if exchange.is_login and exchange.sent.get("content-type") == JSON:
        exchange.body, exchange.sent["content-type"] = urlencode(exchange.fields).encode(), FORM


def send_domain(condition: Callable[[Any], bool], value: Any) -> Mutation:
    """Replace the domainId of the request if it meets a condition."""

    def change(exchange: Exchange) -> None:
        fields = exchange.fields
        if exchange.action == DOMAIN and "domainId" in fields and condition(fields["domainId"]):
            exchange.body = json.dumps({**fields, "domainId": value}).encode()

    return change


def echo_request_id(exchange: Exchange) -> None:
    if exchange.sent.get("x-request-id"):
        exchange.set_header("x-request-id", exchange.sent["x-request-id"])


def dial_region(exchange: Exchange) -> None:
    region = urlsplit(exchange.fields.get("region", "")) if exchange.is_login else urlsplit("")
    if region.port not in (None, 8000):
        socket.create_connection((region.hostname, region.port)).close()


def append_traceback(exchange: Exchange) -> None:
    merge(message=f"{exchange.envelope['message']} Traceback (most recent call last): ...")(exchange)


def use_referer_as_origin(exchange: Exchange) -> None:
    if "referer" in exchange.sent:
        exchange.sent["origin"] = exchange.sent["referer"].rstrip("/")


def is_at(path: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.path == path


def is_form_of(action: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.action == action and exchange.sent["content-type"] == FORM


def mishandle(body: Body) -> Mutation:
    """Reject an acceptable body, or accept any other."""

    def change(exchange: Exchange) -> None:
        if exchange.body == body.body and exchange.sent.get("content-type") == body.content_type:
            if body.error is None:
                make_unreadable(exchange)
            else:
                exchange.body, exchange.sent["content-type"] = b"action=GetNews", FORM

    return change


FAULTS = [
    # GET /api/
    Fault("no regions", "console.welcome.data", on(is_opening, lambda each: setattr(each, "envelope", {
        **each.envelope, "data": {**each.envelope["data"], "regions": None}}))),
    Fault("anonymous IDs replaced", "console.welcome.keeps-cookies", before=on(is_opening, request_header(
        "cookie", lambda each: each.sent.get("cookie", "").replace("sessionid=a", "sessionid=b")))),
    Fault("made-up tokens accepted", "console.welcome.replaces-made-up", on(
        lambda each: is_opening(each) and each.cookies.get("csrftoken") == "0" * 64,
        lambda each: each.change_cookie("csrftoken", lambda line: f"csrftoken={'0' * 64};{line.partition(';')[2]}"))),
    Fault("a session lost by GET", "console.welcome.keeps-session", sessions.replace_live_session),
    Fault("HEAD without cookies", "console.welcome.head", on(
        lambda each: each.method == "HEAD", header("set-cookie", None))),
    # Cookies
    Fault("cookies over https are not Secure", "console.cookies.secure",
        without_attributes("csrftoken", "Secure"), scheme="https"),
    Fault("a third cookie", "console.cookies.once", on(
        is_opening, lambda each: each.headers.append(("set-cookie", "tracker=1; Path=/")))),
    Fault("other characters in a cookie", "console.cookies.values", cookie("sessionid", "sessionid=a", "sessionid=-")),
    Fault("SameSite=None cookies", "console.cookies.scope", cookie("csrftoken", "SameSite=Lax", "SameSite=None")),
    Fault("csrftoken without Max-Age", "console.cookies.csrftoken-lifetime",
        without_attributes("csrftoken", "Max-Age")),
    Fault("HttpOnly csrftoken", "console.cookies.csrftoken-readable", cookie("csrftoken", "Path", "HttpOnly; Path")),
    # Login
    Fault("a login with status 201", "console.login.status", on(
        is_logged_in, lambda each: setattr(each, "status", 201))),
    Fault("session fixation", "console.login.new-session", sessions.keep_session, sessions.resolve_session),
    Fault("the old session stays valid", "console.login.old-session-dead", before=sessions.revive_first_session),
    Fault("csrftoken rotated at login", "console.login.csrftoken-stays", sessions.rotate_token, sessions.resolve_token),
    Fault("another message for a wrong password", "console.login.wrong-password",
        on(is_wrong_password, merge(message="The password is wrong."))),
    Fault("a failed login changes cookies", "console.login.wrong-credentials", on(
        lambda each: each.is_login and each.status == 401,
        lambda each: each.headers.append(("set-cookie", "sessionid=x; HttpOnly; Path=/")))),
    Fault("any token logs in", "console.login.csrf", sessions.remember_any_token, sessions.use_any_token),
    Fault("a login from a foreign page", "console.login.foreign-origin", before=on(
        lambda each: each.is_login, request_header("origin", lambda _: None))),
    Fault("another error for an unknown region", "console.login.region", on(
        lambda each: each.is_login and each.envelope.get("error") == "unknown_region", merge(error="lost", field=...))),
    Fault("one session per account", "console.login.several-sessions", before=sessions.close_later_sessions),
    Fault("login tokens in headers ignored", "console.login.token-in-header", before=on(
        lambda each: each.is_login, request_header("x-csrftoken", lambda _: None))),
    Fault("a login does not end the old session", "console.login.again", before=sessions.revive_replaced_sessions),
    Fault("a login in JSON", "console.login.form-only", before=accept_json_login),
    Fault("a login in plain text", "console.login.order", before=on(
        lambda each: each.is_login and each.sent["content-type"] == "text/plain",
        request_header("content-type", lambda _: FORM))),
    Fault("a failed login ends the session", "console.login.failure-keeps-session",
        sessions.remember_failed_login, sessions.end_session_of_failed_login),
    Fault("only the last csrftoken cookie is read at login", "console.login.repeated-cookies", before=on(
        lambda each: each.is_login, sessions.read_last_cookies)),
    Fault("the region is dialled", "console.login.region-not-dialled", before=dial_region),
    # CSRF and sessions in actions
    Fault("any issued token is valid", "console.csrf.unequal",
        sessions.remember_issued_tokens, sessions.accept_issued_tokens),
    Fault("the CSRF cookie is not needed", "console.csrf.missing", before=sessions.accept_header_without_cookie),
    Fault("a made-up session is valid", "console.session.required", before=sessions.accept_made_up_session),
    Fault("quotes are part of a cookie's value", "console.session.quoted-cookie", before=on(
        lambda each: '"' in each.sent.get("cookie", ""), request_header("cookie", lambda _: None))),
    Fault("only the last of equal-named cookies is read", "console.session.valid-cookie-first", before=on(
        lambda each: each.action, sessions.read_last_cookies)),
    Fault("only the first of equal-named cookies is read", "console.session.valid-cookie-last", before=on(
        lambda each: each.action, sessions.read_first_cookies)),
    Fault("made-up tokens valid in actions", "console.csrf.made-up", before=sessions.accept_made_up_token),
    Fault("Referer treated as Origin", "console.csrf.own-page", before=use_referer_as_origin),
    Fault("unusual cookies break a session", "console.session.odd-cookies", before=on(
        lambda each: "$Version" in each.sent.get("cookie", ""), request_header("cookie", lambda _: None))),
    Fault("a logout without a token", "console.logout.refusals", before=on(
        lambda each: each.path == "/auth/logout/" and "csrftoken" in each.cookies,
        request_header("x-csrftoken", lambda each: each.cookies["csrftoken"]))),
    Fault("a token invalidated by logout", "console.logout.token-still-good",
        before=sessions.corrupt_token_after_logout),
    Fault("any session's token accepted", "console.csrf.another-sessions", before=sessions.accept_token_of_any_session),
    Fault("actions from foreign pages", "console.csrf.foreign-page", before=on(
        lambda each: each.action, request_header("sec-fetch-site", lambda _: None))),
    Fault("logout ends nothing", "console.logout.ends", on(
        lambda each: each.path == "/auth/logout/" and each.status == 200, header("set-cookie", None))),
    # The envelope
    Fault("an extra field in the envelope", "console.envelope.success", envelope(extra=1)),
    Fault("a success as HTTP 201", "console.envelope.success", on(
        lambda each: each.is_success, lambda each: setattr(each, "status", 201))),
    Fault("a success as text", "console.envelope.success", on(
        lambda each: each.is_success, header("content-type", "text/json"))),
    Fault("errors without an identifier", "console.envelope.refusal", error_field(error=...)),
    Fault("errors with null data", "console.envelope.refusal", error_field(data=None)),
    Fault("errors without a field", "console.envelope.refusal", error_field(field=...)),
    Fault("errors as HTTP 200", "console.envelope.refusal", on(is_rejected, lambda each: setattr(each, "status", 200))),
    Fault("another identifier", "console.domain.unknown-id", on(
        lambda each: is_rejected(each) and each.envelope["error"] == "domain_not_found",
        merge(error="not_found", field=...))),
    Fault("HTML for unknown paths", "console.errors.json", on(
        is_at("/nothing-is-here"), respond_with(404, b"<h1>Not Found</h1>", "text/html"))),
    Fault("a long X-Request-ID is a server error", "console.errors.no-server-error", on(
        lambda each: len(each.sent.get("x-request-id", "")) > 64, reject(500, "internal_error"))),
    Fault("an exception in a message", "console.errors.no-traceback", on(is_rejected, append_traceback)),
    Fault("Chinese text escaped", "console.envelope.unescaped", on(
        lambda each: each.is_success, lambda each: setattr(each, "content", json.dumps(each.envelope).encode()))),
    Fault("only English", "console.language", before=request_header("accept-language", lambda _: "en")),
    Fault("data in the client's language", "console.language", on(
        lambda each: "zh" in each.sent.get("accept-language", ""), put(NEWS, 0, "title", value="新闻"))),
    # Bodies
    Fault("byte-order mark rejected", "console.body.byte-order-mark", before=on(
        lambda each: each.body.startswith(b"\xef"), make_unreadable)),
    Fault("any charset", "console.body.other-charset", before=request_header(
        "content-type", lambda each: (each.sent.get("content-type") or "").replace("gbk", "utf-8") or None)),
    Fault("extra fields rejected", "console.body.extra-fields", before=on(
        lambda each: each.action and "region" in each.fields, make_unreadable)),
    Fault("the session before the media type", "console.body.order", before=on(
        lambda each: each.path == "/api/" and not each.cookies and each.sent.get("content-type") == "text/plain",
        request_header("content-type", lambda _: JSON))),
    Fault("deeply nested JSON is a server error", "console.body.deep-json", on(
        lambda each: b"[[[[" in each.body, reject(500, "internal_error"))),
    # Domains
    Fault("an empty ID accepted", "console.domain.missing-id", before=send_domain(lambda sent: sent == "", "0")),
    Fault("a boolean ID accepted", "console.domain.invalid-id", before=send_domain(
        lambda sent: sent is False, "false")),
    Fault("a numeric ID rejected", "console.domain.integer-id", before=send_domain(
        lambda sent: type(sent) is int, value=True)),
    Fault("other tenants' domains", "console.domain.another-tenants", before=sessions.as_main_tenant),
    # Values
    Fault("a quota below unlimited", "console.usage.values", put(USAGE, "maxTotalCores", value=-2)),
    Fault("an additional quota", "console.usage.values", put(USAGE, "maxTotalPorts", value=5)),
    Fault("a name with another RAM", "console.flavors.names", put(FLAVORS, "flavors", 7, "name", value="1C9G100G")),
    Fault("URLs in another order", "console.urls.values", data(URLS, lambda items: items.reverse())),
    Fault("configs unsorted", "console.flavors.ascending", data(
        FLAVORS, lambda all_: all_["configs"]["ram"].reverse())),
    Fault("a config without a flavor", "console.flavors.agree", data(
        FLAVORS, lambda all_: all_["configs"]["vcpus"].append(128))),
    Fault("enabled as a boolean", "console.domain.values", put(DOMAIN, "enabled", value=True)),
    Fault("news with an author", "console.news.order", put(NEWS, 0, "author", value="x")),
    Fault("news from the future", "console.news.past", put(NEWS, 0, "date", value="2999-01-01 00:00:00")),
    Fault("a day of more than 24 hours", "console.consumption.periods", data(COSTS, raise_price_per_day)),
    Fault("an amount with one decimal", "console.consumption.amounts", put(COSTS, 0, "hour", value="1.5")),
    Fault("kinds in another order", "console.consumption.order", data(COSTS, lambda items: items.reverse())),
    # HTTP
    Fault("a body lost by an upgrade offer", "console.upgrade-ignored", before=on(
        lambda each: "upgrade" in each.sent, lambda each: setattr(each, "body", b""))),
    Fault("OPTIONS with status 200", "console.methods.options", on(
        lambda each: each.method == "OPTIONS", lambda each: setattr(each, "status", 200))),
    Fault("no Allow", "console.methods.not-allowed", on(lambda each: each.method == "DELETE", header("allow", None))),
    Fault("another error for unknown paths", "console.paths.unknown", on(
        lambda each: each.path == "/nothing-is-here", merge(error="lost"))),
    Fault("any request ID accepted", "console.request-id.replaced", echo_request_id),
    Fault("a document without ETag", "console.documents", on(
        lambda each: each.path == "/openapi.json", header("etag", None))),
    Fault("cacheable responses", "console.headers.caching", on(
        lambda each: each.path == "/api/", header("cache-control", "private"))),
    Fault("no request ID", "console.headers.request-id", header("x-request-id", None)),
    Fault("content types may be guessed", "console.headers.nosniff", header("x-content-type-options", None)),
    Fault("pages of others may frame responses", "console.headers.framing", header("x-frame-options", None)),
    Fault("two Server headers", "console.headers.once", lambda each: each.headers.extend(
        [("server", "one"), ("server", "two")])),
    Fault("any Host is served", "console.host", before=request_header("host", lambda _: "127.0.0.1:8000")),
    Fault("another request ID", "console.request-id.kept", header("x-request-id", "mine")),
    Fault("CORS for all origins", "console.headers.no-cors", header("access-control-allow-origin", "*")),
    *(Fault(f"a POST lost by the redirect of {path}", f"console.slash{path.replace('/', '.')}", on(
        is_at(path), lambda each: setattr(each, "status", 302))) for path in ("/api", "/auth/login", "/auth/logout")),
    *(Fault(f"the body {body.id} mishandled", f"console.body.{body.id}", before=mishandle(body))
        for body in ACCEPTED + REJECTED if body.id != "no-action"),
    Fault("another error without an action", "console.body.no-action", on(
        lambda each: each.body == b"{}", merge(error="malformed_body", field=...))),
    *(Fault(f"{action} in JSON only", f"console.forms.{action}", before=on(
        is_form_of(action), make_unreadable)) for action in ACTION_NAMES),
]  # fmt: skip

"""Faults that violate the interface, each with the check that must catch it."""

from collections.abc import Callable
from typing import Any

from cloudconsole.conformance.client import ACTION_NAMES
from tests.conformance.faulty_console import Exchange, Fault
from tests.conformance.mutations import (
    cookie,
    data,
    default_to_own_region,
    drop,
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
from tests.conformance.session_mutations import lend_cookies
from tests.harness import FORM


def drop_cookie(name: str) -> Any:
    def change(exchange: Exchange) -> None:
        exchange.headers = [pair for pair in exchange.headers if not pair[1].startswith(f"{name}=")]

    return on(is_opening, change)


def use_last_session(exchange: Exchange) -> None:
    """Use the session of the last login for every action in no session."""
    sessions = [login.cookies["sessionid"] for login in exchange.logins]
    if exchange.action and sessions and exchange.cookies.get("sessionid") not in sessions:
        cookies = exchange.logins[-1].cookies
        exchange.sent["x-csrftoken"] = cookies["csrftoken"] if "x-csrftoken" in exchange.sent else ""
        exchange.cookies = cookies


def use_right_password(exchange: Exchange) -> None:
    if exchange.is_login and exchange.fields.get("username") != "other":
        exchange.send_form(username="demo", password="console-demo")


def is_action(name: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.action == name


def is_rejected_without_action(exchange: Exchange) -> bool:
    is_missing = exchange.path == "/api/" and exchange.envelope.get("error") == "missing_field"
    return is_missing and "action" not in exchange.fields


def respond_with_html(exchange: Exchange) -> None:
    respond_with(exchange.status, b"<h1>Bad Request</h1>", "text/html")(exchange)


def own_token(exchange: Exchange) -> str | None:
    """Return the token in the header if it is that of a cookie, else the cookie's."""
    sent = exchange.sent.get("x-csrftoken")
    return sent if f"csrftoken={sent}" in exchange.sent.get("cookie", "") else exchange.cookies.get("csrftoken")


def accept_missing_token(exchange: Exchange) -> None:
    if exchange.is_login and "csrfmiddlewaretoken" not in exchange.fields:
        exchange.send_form(csrfmiddlewaretoken=exchange.cookies.get("csrftoken", ""))


def is_form(exchange: Exchange) -> bool:
    return exchange.sent.get("content-type") == FORM


PERIODS = ("hour", "day", "month", "year")
USAGE, FLAVORS, DOMAIN = "GetUsageLimits", "GetFlavors", "GetDomainDetail"
URLS, NEWS, COSTS = "GetUrlList", "GetNews", "GetConsumptionsEstimated"
EMPTY_SUCCESS = respond_with(200, b'{"message": "ok", "code": 200, "data": {}}', "application/json")

FAULTS = [
    # 4.2 and 5: the session
    Fault("no csrftoken", "session.opens", drop_cookie("csrftoken")),
    Fault("no sessionid", "session.opens", drop_cookie("sessionid")),
    Fault("sessionid without HttpOnly", "session.sessionid-http-only", cookie("sessionid", "HttpOnly; ", "")),
    Fault("sessionid without HttpOnly after login", "session.sessionid-http-only",
        on(is_logged_in, cookie("sessionid", "HttpOnly; ", ""))),
    Fault("sessionid with an expiry", "session.sessionid-no-expiry", on(
        lambda each: each.path != "/auth/logout/", cookie("sessionid", "Path", "Max-Age=600; Path"))),
    Fault("csrftoken without an expiry", "session.csrftoken-expiry",
        without_attributes("csrftoken", "Expires", "Max-Age")),
    Fault("an invalid expiry date", "session.csrftoken-expiry", lambda exchange: exchange.change_cookie(
        "csrftoken", lambda line: line.partition(";")[0] + "; Path=/; SameSite=Lax; Expires=soon")),
    Fault("cookies limited to actions", "session.one-jar", cookie("sessionid", "Path=/;", "Path=/api/;")),
    Fault("cookies not sent to actions", "session.one-jar",
        on(is_logged_in, cookie("sessionid", "Path=/;", "Path=/auth/;"))),
    Fault("cookies without a path", "session.one-jar", without_attributes("csrftoken", "Path")),
    Fault("cookies for another host", "session.one-jar", cookie("csrftoken", "Path", "Domain=example.org; Path")),
    Fault("secure cookies over HTTP", "session.one-jar", cookie("sessionid", "Path", "Secure; Path")),
    Fault("a login without a session", "login.accepted", on(lambda each: each.is_login, respond_with(200))),
    Fault("a rejected login", "login.accepted", on(lambda each: each.is_login, respond_with(401, b"no"))),
    Fault("a login with a body", "login.empty-body",
        on(is_logged_in, lambda each: setattr(each, "content", b"welcome"))),
    Fault("actions without login", "login.required",
        before=use_last_session),
    Fault("the CSRF header not checked", "csrf.header-required",
        before=on(lambda each: each.action, request_header("x-csrftoken", own_token))),
    Fault("the CSRF header not compared", "csrf.header-compared",
        before=on(lambda each: "x-csrftoken" in each.sent, request_header("x-csrftoken", own_token))),
    Fault("cookies not required", "session.cookies-required", before=lend_cookies),
    Fault("a login with status 500", "login.status", on(is_logged_in, lambda each: setattr(each, "status", 500))),
    Fault("a login without region", "login.region-required", before=default_to_own_region),
    Fault("any password accepted", "login.wrong-credentials", before=use_right_password),
    Fault("a login without a token", "login.token-required", before=accept_missing_token),
    # 4.1 and 2.1: actions
    *(Fault(f"{action} fails", f"answers.{action}", on(is_action(action), respond_with(500, b"oops")))
        for action in ACTION_NAMES),
    Fault("an unknown action", "answers.GetFlavors",
        on(lambda each: each.action == FLAVORS, reject(404, "unknown_action", field="action"))),
    Fault("a response that is not JSON", "answers.GetUrlList",
        on(is_action(URLS), respond_with(200, b"<html>"))),
    Fault("Origin rejected", "calls.own-origin",
        on(lambda each: "origin" in each.sent, reject(403, "csrf_failed"))),
    Fault("requests without action accepted", "calls.action-required",
        on(is_rejected_without_action, EMPTY_SUCCESS)),
    Fault("message as a number", "envelope.message", envelope(message=200)),
    Fault("no message", "envelope.message", envelope(message=...)),
    Fault("code as text", "envelope.code", envelope(code="200")),
    Fault("code as a float", "envelope.code", envelope(code=200.0)),
    Fault("no code", "envelope.code", envelope(code=...)),
    Fault("no message in responses to forms", "envelope.message", on(is_form, envelope(message=...))),
    Fault("code as text in responses to forms", "envelope.code", on(is_form, envelope(code="200"))),
    Fault("data as text in responses to forms", "envelope.data", on(is_form, envelope(data="[]"))),
    Fault("no data", "envelope.data", envelope(data=...)),
    Fault("data as text", "envelope.data", envelope(data="[]")),
    Fault("data of the wrong type", "envelope.data", data(NEWS, lambda items: {"items": items})),
    # 2.2
    Fault("usage lacks a field", "usage.fields", drop(USAGE, "maxServerMeta")),
    Fault("usage as text", "usage.fields", put(USAGE, "totalCoresUsed", value="13")),
    Fault("usage as a float", "usage.fields", put(USAGE, "totalRAMUsed", value=512.0)),
    Fault("usage as a boolean", "usage.fields", put(USAGE, "maxTotalInstances", value=True)),
    Fault("usage as null", "usage.fields", put(USAGE, "maxTotalKeypairs", value=None)),
    Fault("usage as a float in responses to forms", "usage.fields", on(is_form, put(USAGE, "totalRAMUsed", value=5.0))),
    # 2.3
    Fault("flavors lack limits", "flavors.parts", drop(FLAVORS, "limits")),
    Fault("a flavor without disk", "flavors.items", drop(FLAVORS, "flavors", 3, "disk")),
    Fault("a flavor's id as a number", "flavors.items", put(FLAVORS, "flavors", 0, "id", value=1)),
    Fault("a flavor's id is not numeric", "flavors.ids", put(FLAVORS, "flavors", 0, "id", value="m1.tiny")),
    Fault("cores as text", "flavors.configs", put(FLAVORS, "configs", "vcpus", 0, value="1")),
    Fault("no ram in configs", "flavors.configs", drop(FLAVORS, "configs", "ram")),
    Fault("one ram for a core count", "flavors.limits", put(FLAVORS, "limits", "1", value=512)),
    Fault("a limit's key is not a core count", "flavors.limits", put(FLAVORS, "limits", "one", value=[512])),
    Fault("limits as text", "flavors.limits", put(FLAVORS, "limits", "2", 0, value="2048")),
    Fault("a flavor outside the limits", "flavors.relation", drop(FLAVORS, "limits", "8")),
    Fault("a flavor with a mismatched name", "flavors.names", put(FLAVORS, "flavors", 7, "name", value="64C1G0G")),
    # 2.5
    Fault("comment as null", "domain.fields", put(DOMAIN, "comment", value=None)),
    Fault("no rules", "domain.fields", drop(DOMAIN, "visitControlRules")),
    Fault("settings as a list", "domain.fields", put(DOMAIN, "queryStringSettings", value=[])),
    Fault("enabled is yes", "domain.enabled", put(DOMAIN, "enabled", value="yes")),
    Fault("enabled is 1", "domain.enabled", put(DOMAIN, "enabled", value=1)),
    Fault("enabled is missing", "domain.enabled", drop(DOMAIN, "enabled")),
    Fault("origin IPs as text", "domain.origin", put(DOMAIN, "originConfig", "originIps", value="192.0.2.1")),
    Fault("no key for the origin's name", "domain.origin", drop(DOMAIN, "originConfig", "originDomainName")),
    Fault("an origin IP that is a name", "domain.origin-ips",
        put(DOMAIN, "originConfig", "originIps", 0, value="a.example")),
    Fault("another domain", "domain.id", put(DOMAIN, "domainId", value="1")),
    Fault("another domain in responses to forms", "domain.id", on(is_form, put(DOMAIN, "domainId", value="1"))),
    Fault("no IPs in responses to forms", "domain.origin", on(is_form, drop(DOMAIN, "originConfig", "originIps"))),
    Fault("an area without a code", "domain.areas", put(DOMAIN, "serviceAreas", value="hk;;ov")),
    # 2.4
    Fault("a URL without type", "urls.fields", drop(URLS, 1, "type")),
    Fault("a URL that is null", "urls.fields", put(URLS, 0, "url", value=None)),
    Fault("a URL's id in another format", "urls.ids", put(URLS, 2, "id", value="url-ABCDEFGH")),
    Fault("a URL's id too long", "urls.ids", put(URLS, 0, "id", value="url-123456789")),
    # 2.6
    Fault("news without a title", "news.fields", drop(NEWS, 0, "title")),
    Fault("a boolean for a title", "news.fields", put(NEWS, 1, "title", value=False)),
    Fault("a date in another format", "news.dates", put(NEWS, 0, "date", value="2026-10-12T12:00:00Z")),
    Fault("a date that does not exist", "news.dates", put(NEWS, 0, "date", value="2027-02-30 12:00:00")),
    Fault("news unsorted", "news.newest-first", data(NEWS, lambda items: items.reverse())),
    Fault("no title in responses to forms", "news.fields", on(is_form, drop(NEWS, 0, "title"))),
    # 2.7
    Fault("an amount as a float", "consumption.fields", put(COSTS, 0, "hour", value=1.25)),
    Fault("no amount for a year", "consumption.fields", drop(COSTS, 2, "year")),
    Fault("an unknown kind", "consumption.kinds", put(COSTS, 1, "res_type", value="snapshot")),
    Fault("an amount with an exponent", "consumption.amounts", put(COSTS, 0, "month", value="1.2E+3")),
    Fault("an amount with a currency", "consumption.amounts", put(COSTS, 0, "day", value="¥ 12.50")),
    Fault("a kind twice", "consumption.each-kind-once", data(COSTS, lambda items: items.append(items[0]))),
    Fault("a kind that costs nothing", "consumption.only-consumed", data(
        COSTS, lambda items: items.insert(2, {"res_type": "loadbalance", **dict.fromkeys(PERIODS, "0.00")}))),
    # 7
    Fault("success without domainId", "errors.no-domain-id",
        on(lambda each: each.action == DOMAIN and "domainId" not in each.fields, EMPTY_SUCCESS)),
    Fault("errors as HTML", "errors.json",
        on(is_rejected, respond_with_html)),
    Fault("an error's code as text", "errors.envelope",
        on(is_rejected, lambda each: merge(code=str(each.status))(each))),
    Fault("an error's code unlike HTTP", "errors.code",
        on(is_rejected, merge(code=-7))),
    Fault("an error without a message", "errors.envelope", on(is_rejected, merge(message=...))),
]  # fmt: skip

"""Consoles that break what the interface says, each in one way, with the check that must catch it."""

from typing import Any

from tests.conformance.changes import (
    answered,
    as_if_sent,
    cookie,
    data,
    envelope,
    leave_out,
    logged_in,
    on,
    opening,
    own_region_for_none,
    put,
    refused,
    without_attributes,
)
from tests.conformance.changes_of_sessions import lend_jar, remember_last_jar
from tests.conformance.damaged import Exchange, Fault
from tests.harness import FORM


def forget(name: str) -> Any:
    def change(exchange: Exchange) -> None:
        exchange.headers = [pair for pair in exchange.headers if not pair[1].startswith(f"{name}=")]

    return on(opening, change)


def remember_session(exchange: Exchange) -> None:
    """Keep the cookies of whoever logged in."""
    if logged_in(exchange):
        exchange.memory["jar"] = exchange.set_cookies


def lend_session(exchange: Exchange) -> None:
    """Let everyone in by the session that there is."""
    jar = exchange.memory.get("jar")
    if exchange.action and jar:
        exchange.sent["x-csrftoken"] = jar["csrftoken"] if "x-csrftoken" in exchange.sent else ""
        exchange.cookies = jar


def right_password(exchange: Exchange) -> None:
    if exchange.is_login:
        exchange.send_form(username="demo", password="console-demo")


def own_token(exchange: Exchange) -> str | None:
    return exchange.cookies.get("csrftoken")


def any_token(exchange: Exchange) -> None:
    if exchange.is_login:
        exchange.send_form(csrfmiddlewaretoken=exchange.cookies.get("csrftoken", ""))


def to_a_form(exchange: Exchange) -> bool:
    return exchange.sent.get("content-type") == FORM


PERIODS = ("hour", "day", "month", "year")
USAGE, FLAVORS, DOMAIN = "GetUsageLimits", "GetFlavors", "GetDomainDetail"
URLS, NEWS, COSTS = "GetUrlList", "GetNews", "GetConsumptionsEstimated"

FAULTS = [
    # 4.2 and 5: the session
    Fault("no csrftoken", "session.opens", forget("csrftoken")),
    Fault("no sessionid", "session.opens", forget("sessionid")),
    Fault("sessionid for scripts", "session.sessionid-http-only", cookie("sessionid", "HttpOnly; ", "")),
    Fault(
        "sessionid for scripts after login", "session.sessionid-http-only",
        on(logged_in, cookie("sessionid", "HttpOnly; ", "")),
    ),
    Fault("sessionid with an expiry", "session.sessionid-no-expiry", cookie("sessionid", "Path", "Max-Age=600; Path")),
    Fault(
        "csrftoken without an expiry", "session.csrftoken-expiry",
        without_attributes("csrftoken", "Expires", "Max-Age"),
    ),
    Fault("an expiry that is no date", "session.csrftoken-expiry", lambda exchange: exchange.change_cookie(
        "csrftoken", lambda line: line.partition(";")[0] + "; Path=/; Expires=soon")),
    Fault("cookies for actions only", "session.one-jar", cookie("sessionid", "Path=/;", "Path=/api/;")),
    Fault("cookies for no actions", "session.one-jar", on(logged_in, cookie("sessionid", "Path=/;", "Path=/auth/;"))),
    Fault("cookies without a path", "session.one-jar", without_attributes("csrftoken", "Path")),
    Fault("cookies for another host", "session.one-jar", cookie("csrftoken", "Path", "Domain=example.org; Path")),
    Fault("secure cookies by http", "session.one-jar", cookie("sessionid", "Path", "Secure; Path")),
    Fault("a login that logs nobody in", "login.accepted", on(lambda each: each.is_login, answered(200))),
    Fault("a login that is refused", "login.accepted", on(lambda each: each.is_login, answered(401, b"no"))),
    Fault("a login with a body", "login.empty-body", on(logged_in, lambda each: setattr(each, "content", b"welcome"))),
    Fault(
        "actions without login", "login.required", remember_session, lend_session,
        frozenset({"csrf.header-compared", "session.cookies-required"}),
    ),
    Fault(
        "the CSRF header not checked", "csrf.header-required",
        before=on(lambda each: each.action, as_if_sent("x-csrftoken", own_token)),
        follows=frozenset({"csrf.header-compared"}),
    ),
    Fault(
        "the CSRF header not compared", "csrf.header-compared",
        before=on(lambda each: "x-csrftoken" in each.sent, as_if_sent("x-csrftoken", own_token)),
    ),
    Fault("cookies not needed", "session.cookies-required", remember_last_jar, lend_jar),
    Fault("a login answered 500", "login.status", on(logged_in, lambda each: setattr(each, "status", 500))),
    Fault("a login without region", "login.region-required", before=own_region_for_none),
    Fault("any password is good", "login.wrong-credentials", before=right_password),
    Fault("a login without a token", "login.token-required", before=any_token),
    # 4.1 and 2.1: calls
    Fault("an action that fails", "answers.GetNews", on(lambda each: each.action == NEWS, answered(500, b"oops"))),
    Fault(
        "an action that is unknown", "answers.GetFlavors",
        on(lambda each: each.action == FLAVORS, answered(200, b'{"code": 404, "message": "?"}')),
    ),
    Fault(
        "an action that is not JSON", "answers.GetUrlList",
        on(lambda each: each.action == URLS, answered(200, b"<html>")),
    ),
    Fault(
        "no Origin is taken", "calls.own-origin",
        on(lambda each: "origin" in each.sent, answered(403, b'{"code": 403, "message": "no"}')),
    ),
    Fault(
        "no action is an action", "calls.action-required",
        on(
            lambda each: (each.method, each.path) == ("POST", "/api/") and each.action is None,
            answered(200, b'{"message": "ok", "code": 200, "data": {}}', "application/json"),
        ),
    ),
    Fault("message as a number", "envelope.message", envelope(message=200)),
    Fault("no message", "envelope.message", envelope(message=...)),
    Fault("code as text", "envelope.code", envelope(code="200")),
    Fault("code as a float", "envelope.code", envelope(code=200.0)),
    Fault("no code", "envelope.code", envelope(code=...)),
    Fault("no message in answers to forms", "envelope.message", on(to_a_form, envelope(message=...))),
    Fault("code as text in answers to forms", "envelope.code", on(to_a_form, envelope(code="200"))),
    Fault("data as text in answers to forms", "envelope.data", on(to_a_form, envelope(data="[]"))),
    Fault("no data", "envelope.data", envelope(data=...)),
    Fault("data as text", "envelope.data", envelope(data="[]")),
    Fault("data of the wrong type", "envelope.data", data(NEWS, lambda items: {"items": items})),
    # 2.2
    Fault("usage lacks a field", "usage.fields", leave_out(USAGE, "maxServerMeta")),
    Fault("usage as text", "usage.fields", put(USAGE, "totalCoresUsed", value="13")),
    Fault("usage as a float", "usage.fields", put(USAGE, "totalRAMUsed", value=512.0)),
    Fault("usage as a boolean", "usage.fields", put(USAGE, "maxTotalInstances", value=True)),
    Fault("usage as null", "usage.fields", put(USAGE, "maxTotalKeypairs", value=None)),
    Fault("usage as a float in answers to forms", "usage.fields", on(to_a_form, put(USAGE, "totalRAMUsed", value=5.0))),
    # 2.3
    Fault("flavors lack limits", "flavors.parts", leave_out(FLAVORS, "limits")),
    Fault("a flavor without disk", "flavors.items", leave_out(FLAVORS, "flavors", 3, "disk")),
    Fault("a flavor's id as a number", "flavors.items", put(FLAVORS, "flavors", 0, "id", value=1)),
    Fault("a flavor's id is no number", "flavors.ids", put(FLAVORS, "flavors", 0, "id", value="m1.tiny")),
    Fault("cores as text", "flavors.configs", put(FLAVORS, "configs", "vcpus", 0, value="1")),
    Fault("no ram to choose from", "flavors.configs", leave_out(FLAVORS, "configs", "ram")),
    Fault("one ram for a core count", "flavors.limits", put(FLAVORS, "limits", "1", value=512)),
    Fault("a limit's key is no core count", "flavors.limits", put(FLAVORS, "limits", "one", value=[512])),
    Fault("limits in text", "flavors.limits", put(FLAVORS, "limits", "2", 0, value="2048")),
    Fault("a flavor that limits forbid", "flavors.relation", leave_out(FLAVORS, "limits", "8")),
    Fault("a flavor of another name", "flavors.names", put(FLAVORS, "flavors", 7, "name", value="64C1G0G")),
    # 2.5
    Fault("no comment", "domain.fields", put(DOMAIN, "comment", value=None)),
    Fault("no rules at all", "domain.fields", leave_out(DOMAIN, "visitControlRules")),
    Fault("settings that are a list", "domain.fields", put(DOMAIN, "queryStringSettings", value=[])),
    Fault("enabled is yes", "domain.enabled", put(DOMAIN, "enabled", value="yes")),
    Fault("enabled is 1", "domain.enabled", put(DOMAIN, "enabled", value=1)),
    Fault("enabled is missing", "domain.enabled", leave_out(DOMAIN, "enabled")),
    Fault("one origin", "domain.origin", put(DOMAIN, "originConfig", "originIps", value="192.0.2.1")),
    Fault("no key for the origin's name", "domain.origin", leave_out(DOMAIN, "originConfig", "originDomainName")),
    Fault("an origin by name", "domain.origin-ips", put(DOMAIN, "originConfig", "originIps", 0, value="a.example")),
    Fault("another domain", "domain.id", put(DOMAIN, "domainId", value="1")),
    Fault("another domain in answers to forms", "domain.id", on(to_a_form, put(DOMAIN, "domainId", value="1"))),
    Fault("no IPs in answers to forms", "domain.origin", on(to_a_form, leave_out(DOMAIN, "originConfig", "originIps"))),
    Fault("an area without a code", "domain.areas", put(DOMAIN, "serviceAreas", value="hk;;ov")),
    # 2.4
    Fault("a URL without type", "urls.fields", leave_out(URLS, 1, "type")),
    Fault("a URL that is null", "urls.fields", put(URLS, 0, "url", value=None)),
    Fault("a URL's id of another shape", "urls.ids", put(URLS, 2, "id", value="url-ABCDEFGH")),
    Fault("a URL's id too long", "urls.ids", put(URLS, 0, "id", value="url-123456789")),
    # 2.6
    Fault("news without a title", "news.fields", leave_out(NEWS, 0, "title")),
    Fault("a boolean for a title", "news.fields", put(NEWS, 1, "title", value=False)),
    Fault("a date of another form", "news.dates", put(NEWS, 0, "date", value="2026-10-12T12:00:00Z")),
    Fault("a date that there is not", "news.dates", put(NEWS, 0, "date", value="2027-02-30 12:00:00")),
    Fault("news unsorted", "news.newest-first", data(NEWS, lambda items: items.reverse())),
    Fault("no title in answers to forms", "news.fields", on(to_a_form, leave_out(NEWS, 0, "title"))),
    # 2.7
    Fault("an amount as a float", "consumption.fields", put(COSTS, 0, "hour", value=1.25)),
    Fault("no amount for a year", "consumption.fields", leave_out(COSTS, 2, "year")),
    Fault("an unknown kind", "consumption.kinds", put(COSTS, 1, "res_type", value="snapshot")),
    Fault("an amount with an exponent", "consumption.amounts", put(COSTS, 0, "month", value="1.2E+3")),
    Fault("an amount with a currency", "consumption.amounts", put(COSTS, 0, "day", value="¥ 12.50")),
    Fault("a kind twice", "consumption.each-kind-once", data(COSTS, lambda items: items.append(items[0]))),
    Fault("a kind that costs nothing", "consumption.only-consumed", data(
        COSTS, lambda items: items.append({"res_type": "loadbalance", **dict.fromkeys(PERIODS, "0.00")}))),
    # 7
    Fault(
        "success without domainId", "errors.no-domain-id",
        on(
            lambda each: each.action == DOMAIN and "domainId" not in each.fields,
            answered(200, b'{"message": "ok", "code": 200, "data": {}}', "application/json"),
        ),
    ),
    Fault("errors as pages", "errors.envelope", on(refused, answered(400, b"<h1>Bad Request</h1>", "text/html"))),
    Fault(
        "an error's code as text", "errors.envelope",
        on(refused, answered(400, b'{"message": "no", "code": "400"}', "application/json")),
    ),
    Fault(
        "an error's code unlike HTTP", "errors.code",
        on(refused, answered(400, b'{"message": "no", "code": -7}', "application/json")),
    ),
    Fault("an error without words", "errors.envelope", on(refused, answered(400, b'{"code": 400}'))),
]  # fmt: skip

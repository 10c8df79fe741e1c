"""Paths, methods, languages, and the headers that every answer carries."""

import re

from cloudconsole.conformance.checks import Check, Group, hold, hold_all, hold_equal
from cloudconsole.conformance.console.expecting import allowed_by, hold_refused, hold_success
from cloudconsole.conformance.examination import Examination
from cloudconsole.conformance.reading import told
from cloudconsole.spec.errors import MethodNotAllowed, NotFound

checks = Group("console")

SECTION = "api: HTTP"
METHODS = {
    "/api/": {"GET", "HEAD", "POST", "OPTIONS"},
    "/auth/login/": {"POST", "OPTIONS"},
    "/auth/logout/": {"POST", "OPTIONS"},
}
REQUEST_ID = "[A-Za-z0-9._-]{1,64}"


def _slash(path: str) -> Check:
    def examine(console: Examination) -> None:
        answer = console.newcomer().send("POST", path)
        hold_equal(answer.status, 308, "the status")
        hold_equal(answer.header("location"), f"{path}/", "Location")

    title = f"{path} without its slash answers 308, which a POST survives."
    name = f"console.slash{path.replace('/', '.')}"
    return Check(name, "console", SECTION, "must", title, examine, ("session.opens",))


checks += [_slash(path.rstrip("/")) for path in METHODS]


@checks.must("console.methods.options", SECTION, "session.opens")
def _(console: Examination) -> None:
    """OPTIONS answers 204 with Allow, on every path of the interface."""
    for path, methods in METHODS.items():
        answer = console.newcomer().send("OPTIONS", path)
        hold(answer.status == 204 and not answer.body, f"{path}: {told(answer)}")
        hold_equal(allowed_by(answer), methods, f"Allow of {path}")


@checks.must("console.methods.not-allowed", SECTION, "session.opens")
def _(console: Examination) -> None:
    """A method that a path does not take is method_not_allowed, with Allow."""
    answer = console.newcomer().send("DELETE", "/api/")
    hold_refused(answer, MethodNotAllowed)
    hold_equal(allowed_by(answer), METHODS["/api/"], "Allow")


@checks.must("console.paths.unknown", "errors", "session.opens")
def _(console: Examination) -> None:
    """A path that there is not is not_found."""
    hold_refused(console.newcomer().send("GET", "/nothing-is-here"), NotFound)


@checks.must("console.upgrade-ignored", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """An offer to upgrade the connection is ignored and the call answered as usual."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAoAAAAAIAAAAA"}
    hold_success(console.main.call("GetNews", headers=offer))


@checks.must("console.request-id.kept", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """X-Request-ID is the caller's own, in successes and refusals."""
    own = {"X-Request-ID": "Kit-1_2.3"}
    for what, visitor in {"a success": console.main, "a refusal": console.stranger}.items():
        answer = visitor.call("GetNews", headers=own)
        hold_equal(answer.header("x-request-id"), own["X-Request-ID"], f"X-Request-ID of {what}")


@checks.must("console.request-id.replaced", SECTION, "session.opens")
def _(console: Examination) -> None:
    """An X-Request-ID over 64 characters, or with others than [A-Za-z0-9._-], is replaced."""
    for given in ("x" * 65, "a b", "<x>"):
        answer = console.newcomer().open({"X-Request-ID": given})
        hold(answer.header("x-request-id") != given, f"{given:.12} is kept")


@checks.must("console.documents", SECTION, "session.opens")
def _(console: Examination) -> None:
    """/openapi.json has an ETag and no-cache, and a copy that is still good gets 304."""
    answer = console.newcomer().send("GET", "/openapi.json")
    hold_equal(answer.status, 200, "the status")
    hold_equal(answer.header("cache-control"), "no-cache", "Cache-Control")
    hold(str(answer.content.get("openapi")).startswith("3.1"), "it is no OpenAPI 3.1 document")
    again = console.newcomer().send("GET", "/openapi.json", {"If-None-Match": answer.header("etag") or ""})
    hold(again.status == 304 and not again.body, f"asked again: {told(again)}")


@checks.must("console.headers.on-every-answer", SECTION, "session.opens")
def _(console: Examination) -> None:
    """Every answer has X-Request-ID, nosniff and, documents apart, Cache-Control: no-store."""
    problems = []
    for what, answer in console.sender.answers:
        caching = "no-cache" if what.endswith("/openapi.json") else "no-store"
        if answer.header("cache-control") != caching:
            problems.append(f"{what} ({answer.status}) has no Cache-Control: {caching}")
        if answer.header("x-content-type-options") != "nosniff":
            problems.append(f"{what} ({answer.status}) has no X-Content-Type-Options: nosniff")
        if not re.fullmatch(REQUEST_ID, answer.header("x-request-id") or ""):
            problems.append(f"{what} ({answer.status}) has no X-Request-ID")
    hold_all(problems)


@checks.must("console.headers.no-cors", "api: CSRF", "session.opens")
def _(console: Examination) -> None:
    """No answer has CORS headers."""
    hold_all(
        [
            f"{what} ({answer.status}) has {name}"
            for what, answer in console.sender.answers
            for name, _ in answer.headers
            if name.startswith("access-control-")
        ]
    )

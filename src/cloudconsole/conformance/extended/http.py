"""Checks beyond the interface: HTTP itself."""

from cloudconsole.conformance.assertions import CausedBy, check, check_equal
from cloudconsole.conformance.checks import Check, CheckGroup
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import allowed_methods, check_rejected, check_success
from cloudconsole.conformance.responses import describe_response, is_success_unless_busy
from cloudconsole.spec.errors import MethodNotAllowed, NotFound

checks = CheckGroup("console")

HTTP = "api: HTTP"
METHODS = {
    "/api/": {"GET", "HEAD", "POST", "OPTIONS"},
    "/auth/login/": {"POST", "OPTIONS"},
    "/auth/logout/": {"POST", "OPTIONS"},
}


def _slash(path: str) -> Check:
    def examine(console: CheckContext) -> None:
        response = console.new_client().send("POST", path)
        check_equal(response.status, 308, "the status")
        check_equal(response.header("location"), f"{path}/", "Location")

    title = f"{path} without its slash redirects with 308, which preserves POST."
    name = f"console.slash{path.replace('/', '.')}"
    return Check(name, "console", HTTP, "must", title, examine, ("session.opens",))


checks += [_slash(path.rstrip("/")) for path in METHODS]


@checks.must("console.methods.options", HTTP, "session.opens")
def methods_options(console: CheckContext) -> None:
    """OPTIONS returns 204 with Allow on every path of the interface."""
    for path, methods in METHODS.items():
        response = console.new_client().send("OPTIONS", path)
        check(response.status == 204 and not response.body, f"{path}: {describe_response(response)}")
        check_equal(allowed_methods(response), methods, f"Allow of {path}")


@checks.must("console.methods.not-allowed", HTTP, "session.opens")
def methods_not_allowed(console: CheckContext) -> None:
    """A method that a path does not support is method_not_allowed, with Allow."""
    for path, methods in METHODS.items():
        for method in sorted({"DELETE", "GET", "PUT"} - methods):
            response = console.new_client().send(method, path)
            check_rejected(response, MethodNotAllowed, after=f"{method} {path}")
            check_equal(allowed_methods(response), methods, f"Allow of {method} {path}")


@checks.should("console.host", "errors", "session.opens")
def host(console: CheckContext) -> str:
    """A Host that is not the console's is invalid_host; a console without a list of its hosts serves any."""
    response = console.new_client().open({"Host": "elsewhere.invalid"})
    check(not is_success_unless_busy(response), f"any Host is served: {describe_response(response)}")
    return describe_response(response)


@checks.must("console.paths.unknown", "errors", "session.opens")
def paths_unknown(console: CheckContext) -> None:
    """An unknown path is not_found."""
    check_rejected(console.new_client().send("GET", "/nothing-is-here"), NotFound)


@checks.must("console.upgrade-ignored", HTTP, "answers.GetNews")
def upgrade_ignored(console: CheckContext) -> None:
    """An offer to upgrade the connection is ignored; the response is the usual one."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAoAAAAAIAAAAA"}
    check_success(console.main.call("GetNews", headers=offer))


@checks.must("console.request-id.kept", HTTP, "answers.GetNews")
def request_id_returned(console: CheckContext) -> None:
    """The client's X-Request-ID is returned, in successes and errors."""
    own = {"X-Request-ID": "Kit-1_2.3"}
    for what, client in {"a success": console.main, "an error": console.anonymous}.items():
        response = client.call("GetNews", headers=own)
        if response.header("x-request-id") is None:
            raise CausedBy("console.headers.request-id", f"{what} has none")
        check_equal(response.header("x-request-id"), own["X-Request-ID"], f"X-Request-ID of {what}")


@checks.must("console.request-id.replaced", HTTP, "session.opens")
def request_id_replaced(console: CheckContext) -> None:
    """An X-Request-ID longer than 64 characters, or with characters other than [A-Za-z0-9._-], is replaced."""
    for given in ("x" * 65, "a b", "<x>"):
        response = console.new_client().open({"X-Request-ID": given})
        check(response.header("x-request-id") != given, f"{given:.12} is not replaced")


@checks.must("console.documents", HTTP, "session.opens")
def documents(console: CheckContext) -> None:
    """/openapi.json has an ETag and no-cache, and a conditional request gets 304."""
    response = console.new_client().send("GET", "/openapi.json")
    check_equal(response.status, 200, "the status")
    check_equal(response.header("cache-control"), "no-cache", "Cache-Control")
    check(str(response.content.get("openapi")).startswith("3.1"), "it is not an OpenAPI 3.1 document")
    again = console.new_client().send("GET", "/openapi.json", {"If-None-Match": response.header("etag") or ""})
    check(again.status == 304 and not again.body, f"conditional request: {describe_response(again)}")

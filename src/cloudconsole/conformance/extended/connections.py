"""Checks beyond the interface: what a server does with a connection."""

from cloudconsole.conformance.assertions import check
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import framed
from cloudconsole.conformance.connection import NoResponse
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.redaction import json_line
from cloudconsole.spec.operations import JSON

checks = CheckGroup("console")

HTTP = "api: HTTP"


@checks.must("console.connection.reused", HTTP, "session.opens")
def connection_reused(console: CheckContext) -> str | None:
    """A rejected request leaves nothing on its connection: the next request gets its own response."""
    sender, body = console.sender, b'{"action":"GetNews"}'
    with sender.connect("POST", "/api/", body) as connection:
        headers = framed(connection.host, "POST", console.new_client().headers({"Content-Type": JSON}), len(body))
        connection.send_request("POST", sender.target("/api/"), headers, body)
        sender.receive(connection, "POST", "/api/")
        if not connection.start_next_request():
            return "it closes the connection"
        sender.limits.spend("GET", "/api/", b"")
        connection.send_request("GET", sender.target("/api/"), [("Host", connection.host)], b"")
        try:
            second = connection.read_response()
        except NoResponse as problem:
            if connection.is_closed:
                return "it closes the connection"
            check(condition=False, reason=f"the next request, GET /api/: {problem}")
        else:
            check(second.status == 200, f"the next request, GET /api/, got HTTP {second.status}")
    return None


@checks.must("console.head.no-body", HTTP, "console.welcome.head")
def head_no_body(console: CheckContext) -> None:
    """Nothing follows the head of a response to HEAD."""
    sender = console.sender
    with sender.connect("HEAD", "/api/") as connection:
        headers = [("Host", connection.host), ("Connection", "close")]
        connection.send_request("HEAD", sender.target("/api/"), headers, b"")
        sender.receive(connection, "HEAD", "/api/")
        rest = connection.read_until_close()
    check(not rest, f"{len(rest)} bytes follow: {json_line(rest[:40])}")

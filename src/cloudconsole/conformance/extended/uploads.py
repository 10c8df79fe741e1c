"""Checks beyond the interface: bodies larger than the limit, sent piece by piece."""

from typing import Final, NamedTuple

from cloudconsole.conformance.assertions import check
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.connection import pieces
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import check_rejected
from cloudconsole.conformance.responses import RawResponse
from cloudconsole.spec.errors import BodyTooLarge
from cloudconsole.spec.operations import FORM

checks = CheckGroup("console")

ERRORS, HTTP = "errors", "api: HTTP"
MAX_BODY_SETTING: Final = 1_048_576
"""The maximum body size that an operator can configure."""
LARGE: Final = (b"action=GetNews&x=" + b"x" * 2 * MAX_BODY_SETTING)[: 2 * MAX_BODY_SETTING]
"""More than the buffers between client and server hold, so that its reception shows that the server reads it."""


class Upload(NamedTuple):
    response: RawResponse
    is_early: bool
    """Whether the response came before the end of the body."""
    is_drained: bool
    """Whether the server read the rest of the body after an early response."""


@checks.must("console.body.too-large", ERRORS, "login.accepted")
def too_large(console: CheckContext) -> None:
    """A body larger than the limit is body_too_large."""
    check_rejected(_upload(console, chunked=False).response, BodyTooLarge)


@checks.must("console.body.rejected-unread", HTTP, "console.body.too-large")
def rejected_unread(console: CheckContext) -> None:
    """A body declared larger than the limit is rejected immediately, before it is sent."""
    check(_upload(console, chunked=False).is_early, "the response came only after the whole body was sent")


@checks.must("console.body.drained", HTTP, "console.body.rejected-unread")
def drained(console: CheckContext) -> None:
    """After an early response the rest of the body is read: otherwise clients get a reset instead of the response."""
    is_drained = _upload(console, chunked=False).is_drained
    check(is_drained, "the server closed the connection, or stopped reading, without having read the rest of the body")


@checks.must("console.body.chunked-too-large", ERRORS, "console.body.too-large")
def chunked_too_large(console: CheckContext) -> None:
    """A chunked body larger than the limit is body_too_large."""
    check_rejected(_upload(console, chunked=True).response, BodyTooLarge)


@checks.must("console.body.chunked-endless", HTTP, "console.body.chunked-too-large")
def chunked_endless(console: CheckContext) -> None:
    """A chunked body is rejected as soon as it exceeds the limit, and not read until its end."""
    sent = len(LARGE) // MAX_BODY_SETTING
    check(_upload(console, chunked=True).is_early, f"no response to the first {sent} MiB of an unfinished body")


def _upload(console: CheckContext, *, chunked: bool) -> Upload:
    return console.once(f"upload {chunked}", lambda: _send_upload(console, chunked=chunked))


def _send_upload(console: CheckContext, *, chunked: bool) -> Upload:
    """Send the head, of a chunked body also its start, and the rest only after the response or a timeout."""
    sender, client = console.sender, console.main
    framing = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(len(LARGE))}
    headers = client.headers({"Content-Type": FORM, "X-CSRFToken": client.token, **framing})
    with sender.connect("POST", "/api/") as connection:
        connection.send_head("POST", sender.target("/api/"), [("Host", connection.host), *headers.items()])
        if chunked:
            connection.send_body(pieces(LARGE), ends=False)
        is_early = connection.wait_for_response()
        if not is_early:
            connection.send_body([] if chunked else pieces(LARGE), until_response=False)
        response = sender.receive(connection, "POST", "/api/")
        if is_early:
            connection.send_body(pieces(LARGE), until_response=False)
        return Upload(response, is_early, not is_early or connection.was_received())

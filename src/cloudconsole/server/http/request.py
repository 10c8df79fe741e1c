"""One request: its head, its body, and what the connection tells of the caller."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from cloudconsole.server.http.head import Head
from cloudconsole.server.metrics.layout import OK, OTHER

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

WriteWhole = Callable[[bytes, bytes], bool]
"""Takes a status line with headers, and a body, in one piece; false where it cannot just now."""
WRITE_WHOLE: Final = "cloudconsole.write_whole"
"""Where our own connection offers it in a request's scope."""
WHOLE_BODY: Final = "cloudconsole.whole_body"
"""Where our own connection puts the request's body, once all of it has arrived."""
ARRIVAL: Final = "cloudconsole.arrival"
"""Where our own connection puts the request's number, once all of it has arrived."""
DROP: Final = "cloudconsole.drop"
"""Where a connection offers to end without an answer."""
GONE: Final = "cloudconsole.gone"
"""Where the same one puts an event that tells when the caller has gone, or at least sends no more."""


class ClientGone(Exception):
    """The caller went away before its request was complete; nobody is left to answer."""


def new_request_id() -> str:
    # Not from `secrets`, which asks the kernel each time: an id need not be hard to guess.
    return f"{random.getrandbits(64):016x}"


class Request:
    __slots__ = (
        "_scope",
        "address",
        "body",
        "body_complete",
        "call",
        "head",
        "method",
        "outcome",
        "path",
        "peer",
        "receive",
        "request_id",
        "started",
        "user",
        "write_whole",
    )

    def __init__(self, scope: Scope, head: Head, receive: Receive) -> None:
        self.started = time.perf_counter_ns()
        # What becomes known on the way, for those who count and log calls.
        self.call = OTHER
        self.outcome = OK
        self.user: str | None = None
        self._scope = scope
        self.receive = receive
        self.head = head
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        client = scope.get("client")
        self.peer: str = client[0] if client else ""
        self.address = self.peer
        body: bytearray | None = scope.get(WHOLE_BODY)
        self.body_complete = body is not None or not head.announces_body
        self.body = b"" if body is None else bytes(body)
        """What has arrived of it so far; the rest is to be received."""
        self.request_id = head.given_request_id or new_request_id()
        # Taken out: it holds the connection's side of this call, which holds the scope.
        self.write_whole: WriteWhole | None = scope.pop(WRITE_WHOLE, None)

    @property
    def http_version(self) -> str:
        return str(self._scope["http_version"])

    @property
    def arrival(self) -> int | None:
        return self._scope.get(ARRIVAL)

    @property
    def scheme(self) -> str:
        return str(self._scope["scheme"])

    @property
    def server(self) -> tuple[str, int] | None:
        """The address and port that the caller reached."""
        server = self._scope.get("server")
        return server if server and server[1] else None

    def drop_connection(self) -> None:
        """End the connection under this call, where it can be."""
        drop: Callable[[], None] | None = self._scope.get(DROP)
        if drop is not None:
            drop()

    @property
    def gone(self) -> asyncio.Event:
        """Set once the caller has gone or sends no more, where the connection tells."""
        gone: asyncio.Event | None = self._scope.get(GONE)
        return gone or asyncio.Event()

    @property
    def query(self) -> bytes:
        return bytes(self._scope.get("query_string", b""))

    def chunk_of(self, message: Message) -> bytes:
        """The part of the body that a received message has; `body_complete` tells whether it was the last."""
        if message["type"] != "http.request":
            raise ClientGone
        self.body_complete = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        return body

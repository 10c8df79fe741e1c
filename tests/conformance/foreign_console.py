"""A small console of another design, with the standard library only: one thread per connection, JSON only, no logout.

It can have faults of connections, which `FAULTS` lists. Run it with `python -m tests.conformance.foreign_console`.
"""

import json
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import parse_qs

MAX_BODY = 65_536
MAX_DRAINED = 8 * 1024 * 1024
USERNAME, PASSWORD = "demo", "console-demo"
USAGE = (
    *("maxTotalInstances", "totalInstancesUsed", "maxTotalCores", "totalCoresUsed", "maxTotalRAMSize", "totalRAMUsed"),
    *("maxTotalVolumes", "totalVolumesUsed", "maxTotalVolumeGigabytes", "totalGigabytesUsed", "maxTotalSnapshots"),
    *("totalSnapshotsUsed", "maxTotalFloatingIps", "totalFloatingIpsUsed", "maxSecurityGroups"),
    *("totalSecurityGroupsUsed", "maxSecurityGroupRules", "maxTotalKeypairs", "maxPersonality", "maxPersonalitySize"),
    *("maxImageMeta", "maxServerMeta"),
)
DOMAIN = {
    "domainId": "206813",
    "domainName": "www.example.com",
    "comment": "",
    "serviceAreas": "hk;ov",
    "serviceType": "web",
    "enabled": True,
    "cname": "www.example.com.cdn.example",
    "status": "Deployed",
    "cacheBehaviors": [],
    "visitControlRules": [],
    "queryStringSettings": None,
    "originConfig": {"originIps": ["192.0.2.1"], "advOriginConfigs": None, "originDomainName": None},
}
DATA: dict[str, Any] = {
    "GetUsageLimits": dict.fromkeys(USAGE, 5),
    "GetFlavors": {
        "flavors": [{"id": "1", "name": "1C1G40G", "vcpus": 1, "ram": 1024, "disk": 40}],
        "configs": {"vcpus": [1], "ram": [1024]},
        "limits": {"1": [1024]},
    },
    "GetUrlList": [{"url": "https://example.com/", "type": "URL链接", "id": "url-0a1b2c3d"}],
    "GetNews": [{"date": "2026-01-02 03:04:05", "url": "https://example.com/news", "title": "News"}],
    "GetConsumptionsEstimated": [{"res_type": "volume", "hour": "1", "day": "24", "month": "720", "year": "8760"}],
}


class ConnectionFault(NamedTuple):
    name: str
    caught_by: str
    """The check that must fail."""


FAULTS = [
    ConnectionFault("bodies have no limit", "console.body.too-large"),
    ConnectionFault("a large body is read before it is rejected", "console.body.rejected-unread"),
    ConnectionFault("an early 413 closes the connection without reading the body", "console.body.drained"),
    ConnectionFault("chunked bodies have no limit", "console.body.chunked-too-large"),
    ConnectionFault("a chunked body is read to its end before it is rejected", "console.body.chunked-endless"),
    ConnectionFault("an error leaves the unread body on the connection", "console.connection.reused"),
    ConnectionFault("a response to HEAD has a body", "console.head.no-body"),
    ConnectionFault("the connection is closed without a response", "connection.answered"),
    ConnectionFault("the server dies", "connection.alive"),
]


class TooLarge(Exception):
    """The body exceeds the limit."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 300
    console: "ForeignConsole"

    def do_GET(self) -> None:
        if self.path != "/api/":
            self._reply(404, "not found")
            return
        token = self._cookies().get("csrftoken") or secrets.token_hex(16)
        self._set_cookie = [f"csrftoken={token}; Max-Age=3600; Path=/"]
        self._set_cookie.append(f"sessionid={secrets.token_hex(16)}; HttpOnly; Path=/")
        self._reply(200, "welcome", {"regions": [self.console.region]})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        # Read first, so that nothing is left on the connection.
        if self.console.has("an error leaves the unread body on the connection") and not self._cookies():
            self._reply(401, "log in first")
            return
        try:
            body = self._read_body()
        except TooLarge:
            self._reject_large()
            return
        if self.path == "/auth/login/":
            self._log_in(body)
        elif self.path == "/api/":
            self._call(body)
        else:
            self._reply(404, "not found")

    def _log_in(self, body: bytes) -> None:
        fields = {name: values[-1] for name, values in parse_qs(body.decode()).items()}
        if not self._has_token(fields.get("csrfmiddlewaretoken")):
            self._reply(403, "wrong token")
        elif fields.get("region") != self.console.region:
            self._reply(400, "unknown region")
        elif (fields.get("username"), fields.get("password")) != (USERNAME, PASSWORD):
            self._reply(401, "wrong username or password")
        else:
            session = secrets.token_hex(16)
            self.console.sessions.add(session)
            self._set_cookie = [f"sessionid={session}; HttpOnly; Path=/"]
            self._send(200, b"", "text/plain")

    def _call(self, body: bytes) -> None:
        try:
            fields = json.loads(body) if self.headers.get_content_type() == "application/json" else _form(body)
            action = fields["action"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._reply(400, "invalid body")
            return
        if self._cookies().get("sessionid") not in self.console.sessions:
            self._reply(401, "log in first")
        elif not self._has_token(self.headers["X-CSRFToken"]):
            self._reply(403, "wrong token")
        elif action == "GetNews" and self.console.has("the connection is closed without a response"):
            self.close_connection = True
        elif action == "GetNews" and self.console.has("the server dies"):
            self.console.stop()
            self.close_connection = True
        elif action == "GetDomainDetail":
            is_known = fields.get("domainId") == DOMAIN["domainId"]
            self._reply(200, "success", DOMAIN) if is_known else self._reply(404, "no such domain")
        elif isinstance(action, str) and action in DATA:
            self._reply(200, "success", DATA[action])
        else:
            self._reply(404, "unknown action")

    def _read_body(self) -> bytes:
        if self.headers["Transfer-Encoding"]:
            return b"".join(self._chunks())
        length = int(self.headers["Content-Length"] or 0)
        if length > MAX_BODY and not self.console.has("bodies have no limit"):
            raise TooLarge
        return self.rfile.read(length)

    def _chunks(self) -> Iterator[bytes]:
        received = 0
        faults = ("bodies have no limit", "chunked bodies have no limit")
        at_end = self.console.has("a chunked body is read to its end before it is rejected")
        while size := int(self.rfile.readline() or b"0", 16):
            received += size
            if received > MAX_BODY and not at_end and not any(map(self.console.has, faults)):
                raise TooLarge
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        if received > MAX_BODY and at_end:
            raise TooLarge

    def _reject_large(self) -> None:
        if self.console.has("a large body is read before it is rejected"):
            self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.close_connection = True
        self._reply(413, "too large")
        if not self.console.has("an early 413 closes the connection without reading the body"):
            drained = 0
            with suppress(OSError):
                while drained < MAX_DRAINED and (part := self.connection.recv(65_536)):
                    drained += len(part)

    def _cookies(self) -> dict[str, str]:
        pairs = (part.strip().partition("=") for part in (self.headers["Cookie"] or "").split(";"))
        return {name: value for name, _, value in pairs if name}

    def _has_token(self, token: str | None) -> bool:
        return bool(token) and token == self._cookies().get("csrftoken")

    def _reply(self, code: int, message: str, data: Any = None) -> None:
        envelope = {"message": message, "code": code, "data": {} if data is None else data}
        self._send(code, json.dumps(envelope, ensure_ascii=False).encode(), "application/json")

    def _send(self, code: int, body: bytes, content_type: str) -> None:
        self.send_response(code)
        for line in self.__dict__.pop("_set_cookie", []):
            self.send_header("Set-Cookie", line)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD" or self.console.has("a response to HEAD has a body"):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


def _form(body: bytes) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(body.decode()).items()}


class ForeignConsole:
    def __init__(self, *faults: str, port: int = 0) -> None:
        self._faults = faults
        self._listener = socket.create_server(("127.0.0.1", port))
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.region = f"{self.base}/v3"
        self.sessions: set[str] = set()
        self._threads: list[threading.Thread] = []

    def has(self, fault: str) -> bool:
        return fault in self._faults

    def serve(self) -> None:
        handler = type("BoundHandler", (Handler,), {"console": self})
        while True:
            try:
                connection, address = self._listener.accept()
            except OSError:
                break
            thread = threading.Thread(target=self._handle, args=(handler, connection, address), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Refuse connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @staticmethod
    def _handle(handler: type[Handler], connection: socket.socket, address: object) -> None:
        with connection, suppress(OSError):
            handler(connection, address, None)  # type: ignore[arg-type]


@contextmanager
def foreign_console(*faults: str) -> Iterator[ForeignConsole]:
    console = ForeignConsole(*faults)
    thread = threading.Thread(target=console.serve)
    thread.start()
    try:
        yield console
    finally:
        console.stop()
        thread.join()


if __name__ == "__main__":
    server = ForeignConsole(port=8600)
    print(server.base)
    server.serve()

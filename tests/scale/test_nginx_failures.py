"""nginx with failing or restarting replicas and excessive clients: no POST is repeated, errors are the console's."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from cluster.nginx import Nginx

from cloudconsole.spec import envelope
from cloudconsole.spec.errors import Unavailable, UpstreamFailed
from tests.e2e.processes import eventually
from tests.e2e.raw_http import request
from tests.harness import FORM, JSON, ApiClient, HttpTransport, Reply
from tests.scale.sites import CERTIFICATE_PAIR, Site, raw_connection, two_replica_site

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


@dataclass
class Upstream:
    """`requests` are the complete ones, in order; `methods` includes those of incomplete ones."""

    base: str = ""
    methods: list[str] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)


Behaviour = Callable[[Any], None]
"""What to do with a connection after reading its request."""


def respond(connection: Any) -> None:
    connection.sendall(RESPONSE)


def disconnect(connection: Any) -> None:
    """Close the connection, like a console that is killed while it handles a request."""


@contextmanager
def upstream(behave: Behaviour) -> Iterator[Upstream]:
    """Run a server that reads a request, behaves like this, and closes the connection."""
    observed = Upstream()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            request = _read_request(self.request, observed.methods)
            if request:
                observed.requests.append(request)
                behave(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 200

    with Server(("127.0.0.1", 0), Handler) as server:
        observed.base = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield observed
        finally:
            server.shutdown()
            thread.join()


def _read_request(connection: Any, methods: list[str]) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        piece = connection.recv(65536)
        if not piece:
            return b""
        request += piece
    head, _, body = request.partition(b"\r\n\r\n")
    methods.append(head.split()[0].decode())
    lengths = [
        int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    ]
    while lengths and len(body) < lengths[0]:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


class LimitedNginx(Nginx):
    """Allows only the bursts of the rate limits, whatever the speed of the machine."""

    def _substitutions(self) -> Iterator[tuple[str, str]]:
        yield from super()._substitutions()
        yield "rate=100r/s;", "rate=1r/m;"
        yield "rate=10r/s;", "rate=1r/m;"


StartNginx = Callable[..., tuple[Nginx, list[Upstream]]]


@pytest.fixture
def start_nginx() -> Iterator[StartNginx]:
    """Start an nginx in front of upstreams with the given behaviours."""
    with ExitStack() as running:

        def start(*behaviours: Behaviour, limits: bool = False) -> tuple[Nginx, list[Upstream]]:
            upstreams = [running.enter_context(upstream(behave)) for behave in behaviours]
            kind = LimitedNginx if limits else Nginx
            nginx = kind([each.base for each in upstreams], certificate=CERTIFICATE_PAIR, limits=limits)
            return running.enter_context(nginx), upstreams

        yield start


def send(nginx: Nginx, method: str, path: str = "/api/", body: bytes = b"") -> Reply:
    with closing(HttpTransport(nginx.base)) as transport:
        return transport.send(method, path, [("Content-Type", JSON)], body)


@pytest.mark.parametrize("path", ["/auth/login/", "/auth/logout/", "/admin/sign-in/", "/admin/tenants/add/", "/other/"])
def test_post_that_was_sent_is_never_retried(start_nginx: StartNginx, path: str) -> None:
    nginx, upstreams = start_nginx(disconnect, disconnect)
    reply = send(nginx, "POST", path, body=b"{}")
    assert (reply.status, reply.body) == (502, envelope.error(UpstreamFailed(), "en"))
    assert sum(len(each.requests) for each in upstreams) == 1


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", b"{}")])
def test_interrupted_get_or_action_is_retried_elsewhere(start_nginx: StartNginx, method: str, body: bytes) -> None:
    """All actions are read-only."""
    nginx, (broken, healthy) = start_nginx(disconnect, respond)
    assert [send(nginx, method, body=body).status for _ in range(4)] == [200] * 4
    assert len(broken.requests) >= 1
    assert len(healthy.requests) == 4


@pytest.fixture
def nobody() -> Iterator[str]:
    """The URL of a replica that does not listen."""
    with socket.socket() as not_listening:
        not_listening.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{not_listening.getsockname()[1]}"


def test_post_that_was_not_sent_is_retried_on_another_replica(start_nginx: StartNginx, nobody: str) -> None:
    nginx, (healthy,) = start_nginx(respond)
    nginx.replicas = [nobody, healthy.base]
    nginx.restart()
    assert [send(nginx, "POST", body=b"{}").status for _ in range(4)] == [200] * 4
    assert len(healthy.requests) == 4


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", b"{}")])
def test_request_to_no_replica_gets_retry_after(start_nginx: StartNginx, nobody: str, method: str, body: bytes) -> None:
    """No replica listens: each is tried once, then all are considered down for a while."""
    nginx, _ = start_nginx(respond)
    nginx.replicas = [nobody] * 2
    nginx.restart()
    replies = [send(nginx, method, body=body) for _ in range(6)]
    expected = 503, "1", envelope.error(Unavailable(), "en")
    assert {(reply.status, reply.header("retry-after"), reply.body) for reply in replies} == {expected}


def test_503_of_a_replica_is_forwarded_without_a_retry(start_nginx: StartNginx) -> None:
    def reject(connection: Any) -> None:
        connection.sendall(b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    nginx, upstreams = start_nginx(reject, reject)
    reply = send(nginx, "GET")
    assert (reply.status, reply.header("retry-after")) == (503, "7")
    assert sum(len(each.requests) for each in upstreams) == 1


def test_slow_sender_does_not_occupy_a_replica(start_nginx: StartNginx) -> None:
    nginx, (healthy,) = start_nginx(respond)
    with closing(raw_connection(nginx)) as slow:
        slow.send(request("POST", "/api/", [("Content-Length", "4")], b"{}"))
        assert send(nginx, "GET").status == 200
        assert healthy.methods == ["GET"]
        slow.send(b"  ")
        assert slow.answer().status == 200
    assert healthy.methods == ["GET", "POST"]


def test_slow_reader_does_not_occupy_a_replica(start_nginx: StartNginx) -> None:
    upstream_done = threading.Event()

    def respond_at_length(connection: Any) -> None:
        size = 20_000_000
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % size)
        connection.sendall(b"x" * size)
        upstream_done.set()

    nginx, _ = start_nginx(respond_at_length)
    with closing(raw_connection(nginx)) as slow:
        slow.send(request("GET", "/api/"))
        assert upstream_done.wait(timeout=120)


@pytest.mark.parametrize(
    ("method", "path", "burst"), [("GET", "/api/", 200), ("POST", "/auth/login/", 50), ("POST", "/admin/sign-in/", 50)]
)
def test_excessive_request_rate_is_rejected_and_logins_have_a_lower_limit(
    start_nginx: StartNginx, method: str, path: str, burst: int
) -> None:
    nginx, _ = start_nginx(respond, limits=True)
    with closing(raw_connection(nginx)) as client:
        client.send(request(method, path, [("Content-Length", "0")]) * (burst + 20))
        replies = [client.answer() for _ in range(burst + 20)]
    assert [reply.status for reply in replies[: burst + 1]] == [200] * (burst + 1)
    rejected = [reply for reply in replies if reply.status != 200]
    assert rejected
    assert {(reply.status, reply.error, reply.header("retry-after")) for reply in rejected} == {
        (429, "too_many_requests", "1")
    }


def test_too_many_connections_per_client_are_rejected(start_nginx: StartNginx) -> None:
    release = threading.Event()

    def respond_later(connection: Any) -> None:
        release.wait(120)
        respond(connection)

    nginx, (healthy,) = start_nginx(respond_later, limits=True)
    with ExitStack() as connections:
        clients = [connections.enter_context(closing(raw_connection(nginx))) for _ in range(101)]
        for each in clients:
            each.send(request("GET", "/api/"))
        eventually(lambda: len(healthy.requests) == 100)
        release.set()
        replies = [each.answer() for each in clients]
    (rejected,) = (reply for reply in replies if reply.status != 200)
    assert (rejected.status, rejected.error, rejected.header("retry-after")) == (429, "too_many_requests", "1")


@pytest.fixture
def site(fast_hash_store: Path, tmp_path: Path) -> Iterator[Site]:
    with two_replica_site(copytree(fast_hash_store, tmp_path / "data")) as running:
        yield running


def test_killed_replica_fails_no_get_and_repeats_no_post(site: Site) -> None:
    """Requests in progress there get 502; later ones go to the other replica."""
    killed = threading.Event()
    gets: list[int] = []
    posts: list[tuple[str, int]] = []

    def send_continuously() -> list[int]:
        """Send until some time after the kill; return the statuses of the logins after it."""
        after_kill: list[int] = []
        while len(after_kill) < 10:
            with closing(HttpTransport(site.nginx.base)) as transport:
                api, name = ApiClient(transport), uuid4().hex
                is_after_kill = killed.is_set()
                gets.append(api.open().status)
                status = login(api, name)
                posts.append((name, status))
            after_kill.extend([status] * is_after_kill)
        return after_kill

    with ThreadPoolExecutor(4) as threads:
        senders = [threads.submit(send_continuously) for _ in range(4)]
        eventually(lambda: len(posts) >= 20)
        site.replicas[0].kill()
        killed.set()
        after_kill = [status for each in senders for status in each.result()]
    assert set(gets) == {200}
    assert {status for _, status in posts} <= {200, 502}
    assert set(after_kill) == {200}
    logins = [request_id for _, request_id in site.logins()]
    assert len(logins) == len(set(logins))
    assert {name for name, status in posts if status == 200} <= set(logins)


def login(api: ApiClient, request_id: str) -> int:
    region = f"{api.transport.base}/v3"
    fields = {"username": "demo", "password": "console-demo", "region": region, "csrfmiddlewaretoken": api.token}
    headers = {"Content-Type": FORM, "X-Request-ID": request_id}
    return api.send("POST", "/auth/login/", headers, urlencode(fields).encode()).status


@pytest.mark.slow
def test_frozen_replica_is_skipped(site: Site) -> None:
    """Its kernel accepts connections, but no response comes: reads go to the other replica after a timeout."""
    with closing(HttpTransport(site.nginx.base)) as transport:
        api = ApiClient(transport)
        assert api.login().status == 200
        frozen, _ = site.replicas
        frozen.pause()
        try:
            assert [api.call("GetUsageLimits").status for _ in range(8)] == [200] * 8
        finally:
            frozen.resume()
    lines = site.access_lines()
    tried = [line["replica"].split(", ") for line in lines if line["path"] == "/api/" and line["method"] == "POST"]
    address = frozen.base.removeprefix("http://")
    assert any(replicas[0] == address and len(replicas) > 1 for replicas in tried)


def test_restart_of_a_replica_causes_no_502(fast_hash_store: Path, tmp_path: Path) -> None:
    """Under load, clients see success or 503 with `Retry-After`."""
    done, seen = threading.Event(), [list[Reply]() for _ in range(4)]

    def use_sessions(nginx: Nginx, replies: list[Reply]) -> None:
        """Open and use a session repeatedly, each time over a new connection; nginx does not retry these POSTs."""
        while not done.is_set():
            with closing(HttpTransport(nginx.base)) as transport:
                api = ApiClient(transport)
                replies += [api.open(), api.login(), api.call("GetUsageLimits"), api.logout()]

    settings = {"workers": 2, "metrics": "127.0.0.1:0", "access_log": False}
    data = copytree(fast_hash_store, tmp_path / "data")
    with two_replica_site(data, settings) as site, ThreadPoolExecutor(len(seen)) as threads:
        clients = [threads.submit(use_sessions, site.nginx, replies) for replies in seen]
        try:
            for replica in site.replicas:
                enough = [len(replies) + 5 for replies in seen]
                eventually(lambda: all(len(each) > count for each, count in zip(seen, enough, strict=True)))  # noqa: B023
                replica.restart()
        finally:
            done.set()
        for client in clients:
            client.result()
    outcomes = {(reply.status, reply.header("retry-after")) for replies in seen for reply in replies}
    # A login that got 503 leaves the client without a session.
    assert outcomes <= {(200, None), (503, "1"), (401, None), (403, None)}

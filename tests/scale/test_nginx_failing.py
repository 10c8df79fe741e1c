"""What nginx does where replicas fail or callers ask too much: no POST twice, refusals in the console's own form."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
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
from tests.e2e.raw_http import Raw, request
from tests.harness import FORM, JSON, Caller, OverHttp, Reply, trusting_tests
from tests.scale.sites import PAIR, Site, site_of_two
from tests.scale.upstreams import Behaviour, Upstream, answer, break_off, upstream

Before = Callable[..., tuple[Nginx, list[Upstream]]]


@pytest.fixture
def before() -> Iterator[Before]:
    """nginx before upstreams that behave so."""
    with ExitStack() as running:

        def start(*behaviours: Behaviour, limits: bool = False) -> tuple[Nginx, list[Upstream]]:
            upstreams = [running.enter_context(upstream(behave)) for behave in behaviours]
            nginx = Nginx([each.base for each in upstreams], certificate=PAIR, limits=limits)
            return running.enter_context(nginx), upstreams

        yield start


def send(nginx: Nginx, method: str, path: str = "/api/", body: bytes = b"") -> Reply:
    with closing(OverHttp(nginx.base)) as wire:
        return wire.send(method, path, [("Content-Type", JSON)], body)


def raw(nginx: Nginx) -> Raw:
    plain = socket.create_connection(("127.0.0.1", nginx.port), timeout=20)
    return Raw(trusting_tests().wrap_socket(plain, server_hostname="localhost"))


@pytest.mark.parametrize("path", ["/auth/login/", "/auth/logout/", "/admin/sign-in/", "/admin/tenants/add/", "/other/"])
def test_a_post_that_was_sent_is_never_sent_again(before: Before, path: str) -> None:
    nginx, upstreams = before(break_off, break_off)
    reply = send(nginx, "POST", path, body=b"{}")
    assert (reply.status, reply.body) == (502, envelope.error(UpstreamFailed(), "en"))
    assert sum(len(each.requests) for each in upstreams) == 1


def test_a_get_that_was_broken_off_is_asked_of_another_replica(before: Before) -> None:
    nginx, (broken, whole) = before(break_off, answer)
    assert [send(nginx, "GET").status for _ in range(4)] == [200] * 4
    assert len(broken.requests) >= 1
    assert len(whole.requests) == 4


def test_an_action_that_was_broken_off_is_asked_of_another_replica(before: Before) -> None:
    """All actions only read."""
    nginx, (broken, whole) = before(break_off, answer)
    assert [send(nginx, "POST", body=b"{}").status for _ in range(4)] == [200] * 4
    assert len(broken.requests) >= 1
    assert len(whole.requests) == 4


@pytest.mark.parametrize("path", ["/api", "/auth/logout"])
def test_a_path_without_its_slash_reaches_the_console(before: Before, path: str) -> None:
    nginx, (whole,) = before(answer)
    assert send(nginx, "POST", path, body=b"{}").status == 200
    assert [each.split()[1] for each in whole.requests] == [path.encode()]


def test_a_post_that_could_not_be_sent_goes_to_another_replica(before: Before) -> None:
    nginx, (whole,) = before(answer)
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        nginx.replicas = [f"http://127.0.0.1:{unheard.getsockname()[1]}", whole.base]
        nginx.restart()
        assert [send(nginx, "POST", body=b"{}").status for _ in range(4)] == [200] * 4
    assert len(whole.requests) == 4


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_call_that_reached_no_replica_may_be_sent_again(before: Before, method: str) -> None:
    """Nobody listens: first each replica is tried, then all are taken to be gone for a while."""
    nginx, _ = before(answer)
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        nginx.replicas = [f"http://127.0.0.1:{unheard.getsockname()[1]}"] * 2
        nginx.restart()
        replies = [send(nginx, method, body=b"{}" if method == "POST" else b"") for _ in range(6)]
    assert {(reply.status, reply.header("retry-after")) for reply in replies} == {(503, "1")}
    assert {reply.body for reply in replies} == {envelope.error(Unavailable(), "en")}


def test_a_refusal_for_lack_of_time_is_handed_on_and_not_tried_elsewhere(before: Before) -> None:
    def refuse(connection: Any) -> None:
        connection.sendall(b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    nginx, upstreams = before(refuse, refuse)
    reply = send(nginx, "GET")
    assert (reply.status, reply.header("retry-after")) == (503, "7")
    assert sum(len(each.requests) for each in upstreams) == 1


def test_a_slow_sender_keeps_no_replica_busy(before: Before) -> None:
    nginx, (whole,) = before(answer)
    with closing(raw(nginx)) as slow:
        slow.send(request("POST", "/api/", [("Content-Length", "4")], b"{}"))
        assert send(nginx, "GET").status == 200
        assert whole.methods == ["GET"]
        slow.send(b"  ")
        assert slow.answer().status == 200
    assert whole.methods == ["GET", "POST"]


def test_a_slow_reader_keeps_no_replica_busy(before: Before) -> None:
    rid_of_it = threading.Event()

    def answer_at_length(connection: Any) -> None:
        size = 20_000_000
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % size)
        connection.sendall(b"x" * size)
        rid_of_it.set()

    nginx, _ = before(answer_at_length)
    with closing(raw(nginx)) as slow:
        slow.send(request("GET", "/api/"))
        assert rid_of_it.wait(timeout=30)


def test_who_calls_too_often_is_told_to_wait(before: Before) -> None:
    nginx, _ = before(answer, limits=True)
    with closing(raw(nginx)) as hasty:
        hasty.send(request("GET", "/api/") * 600)
        replies = [hasty.answer() for _ in range(600)]
    refused = [reply for reply in replies if reply.status != 200]
    assert len(refused) >= 100
    assert {(reply.status, reply.error, reply.header("retry-after")) for reply in refused} == {
        (429, "too_many_requests", "1")
    }


@pytest.mark.parametrize("path", ["/auth/login/", "/admin/sign-in/"])
def test_logins_are_limited_sooner(before: Before, path: str) -> None:
    nginx, (whole,) = before(answer, limits=True)
    with closing(raw(nginx)) as hasty:
        hasty.send(request("POST", path, [("Content-Length", "0")]) * 150)
        statuses = [hasty.answer().status for _ in range(150)]
    assert 429 in statuses
    assert 50 < len(whole.requests) < 150


def test_too_many_connections_of_one_caller_are_refused(before: Before) -> None:
    let_go = threading.Event()

    def answer_later(connection: Any) -> None:
        let_go.wait(30)
        answer(connection)

    nginx, (whole,) = before(answer_later, limits=True)
    with ExitStack() as held:
        waiting = [held.enter_context(closing(raw(nginx))) for _ in range(101)]
        for each in waiting:
            each.send(request("GET", "/api/"))
        eventually(lambda: len(whole.requests) == 100)
        let_go.set()
        replies = [each.answer() for each in waiting]
    (refused,) = (reply for reply in replies if reply.status != 200)
    assert (refused.status, refused.error, refused.header("retry-after")) == (429, "too_many_requests", "1")


@pytest.fixture
def site(quick_store: Path, tmp_path: Path) -> Iterator[Site]:
    with site_of_two(copytree(quick_store, tmp_path / "data")) as running:
        yield running


def test_a_killed_replica_costs_no_get_and_doubles_no_post(site: Site) -> None:
    """What was under way there is told as 502; all that comes after it goes to the other."""
    killed = threading.Event()
    gets: list[int] = []
    posts: list[tuple[str, int]] = []

    def call_all_along() -> list[int]:
        """Until some time after it was killed; how the last logins went."""
        last: list[int] = []
        while len(last) < 10:
            with closing(OverHttp(site.nginx.base)) as wire:
                caller, name = Caller(wire), uuid4().hex
                began_afterwards = killed.is_set()
                gets.append(caller.open().status)
                status = log_in(caller, name)
                posts.append((name, status))
            last.extend([status] * began_afterwards)
        return last

    with ThreadPoolExecutor(4) as threads:
        calling = [threads.submit(call_all_along) for _ in range(4)]
        eventually(lambda: len(posts) >= 20)
        site.replicas[0].kill()
        killed.set()
        afterwards = [status for each in calling for status in each.result()]
    assert set(gets) == {200}
    assert {status for _, status in posts} <= {200, 502}
    assert set(afterwards) == {200}
    logins = [request_id for _, request_id in site.logins()]
    assert len(logins) == len(set(logins))
    assert {name for name, status in posts if status == 200} <= set(logins)


def log_in(caller: Caller, request_id: str) -> int:
    region = f"{caller.wire.base}/v3"
    fields = {"username": "demo", "password": "console-demo", "region": region, "csrfmiddlewaretoken": caller.token}
    headers = {"Content-Type": FORM, "X-Request-ID": request_id}
    return caller.send("POST", "/auth/login/", headers, urlencode(fields).encode()).status


@pytest.mark.long
def test_a_frozen_replica_is_passed_over(site: Site) -> None:
    """Its kernel accepts connections, but no response comes: reads go to the other replica after a timeout."""
    with closing(OverHttp(site.nginx.base)) as wire:
        caller = Caller(wire)
        assert caller.login().status == 200
        frozen, _ = site.replicas
        frozen.pause()
        try:
            assert [caller.call("GetUsageLimits").status for _ in range(8)] == [200] * 8
        finally:
            frozen.resume()
    lines = [json.loads(line) for line in site.nginx.access_log.read_text().split("\n")[:-1]]
    tried = [line["replica"].split(", ") for line in lines if line["path"] == "/api/" and line["method"] == "POST"]
    address = frozen.base.removeprefix("http://")
    assert any(replicas[0] == address and len(replicas) > 1 for replicas in tried)

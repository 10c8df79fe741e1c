"""How fast tokens are revoked in the background, and what happens where Keystone fails."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import insert

from cloudconsole.core.ports import ClientInfo, CloudCredentials, FederatedUser
from cloudconsole.server import token_revocation
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.token_revocation import (
    MAX_ATTEMPTS,
    MAX_PENDING,
    MIN_INTERVAL,
    RETRY_SECONDS,
    SWEEP_SIZE,
    TokenRevoker,
)
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import UpstreamTimeout
from cloudconsole.store.activity import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.tables import sessions, tenants
from tests.harness import HeldClock
from tests.server.http.world import rows
from tests.stores import changing, opened, reading, run

ENDPOINT = "https://cloud.example:5000"
CLIENT = ClientInfo("192.0.2.1", "req-1")
NOW = 1_700_000_000


def access(name: str, endpoint: str = ENDPOINT) -> CloudCredentials:
    return CloudCredentials(endpoint, "user", "project", {}, name.encode())


class Keystone:
    """Records what is revoked; each call takes some seconds of its clock, and may fail."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.seconds = 0.0
        self.hangs = self.is_down = self.is_broken = False
        self.revoked: list[str] = []

    async def is_valid(self, access: CloudCredentials, caller: ClientInfo) -> bool:
        raise AssertionError("nobody asks")

    async def revoke(self, access: CloudCredentials, _caller: ClientInfo) -> None:
        self.now += self.seconds
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_down:
            raise UpstreamTimeout
        if self.is_broken:
            raise RuntimeError("a bug")
        self.revoked.append(access.encrypted_token.decode())


class Bench:
    def __init__(self, keystone: Keystone, revoker: TokenRevoker, activity: ActivityStore, data: Path) -> None:
        self.keystone = keystone
        self.revoker = revoker
        self.activity = activity
        self.data = data

    def add(self, *names: str) -> None:
        for name in names:
            self.revoker.add(access(name), CLIENT)

    def tick(self, seconds: float = 0.0) -> list[str]:
        """Let time pass, let the revoker do what is due then, and return all that was revoked so far."""

        async def tick() -> None:
            before = object()
            while self.revoker.task is not before:
                before = self.revoker.task
                self.revoker.tick()
                if self.revoker.task is not None:
                    await self.revoker.task

        self.keystone.now += seconds
        run(tick())
        return self.keystone.revoked

    def open_sessions(self, count: int, endpoint: str = ENDPOINT) -> None:
        """Open sessions of a tenant that was disabled since."""
        with changing(self.data, "cloud") as connection:
            row = {"id": 7, "name": "acme", "project": f"project@{endpoint}", "disabled": True}
            connection.execute(insert(tenants).values(row))
        for number in range(count):
            name = f"token {number:02}"
            guest = FederatedUser("alice", 7, access(name, endpoint), NOW + 3600)
            session = NewSession(name.encode(), "seed", NOW + 3600, ())
            self.activity.open_session(LoginAttempt("alice", "192.0.2.1", CLIENT), guest, session, NOW)


Start = Callable[[], Bench]


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start revokers of several workers over one store and one Keystone."""
    keystone = Keystone()
    with ExitStack() as stack:
        activity = ActivityStore(stack.enter_context(opened(folder, "activity")))
        reader = stack.enter_context(reading(folder))
        writer = Writer("writing", standalone_metrics())
        stack.callback(writer.close)

        def begin() -> Bench:
            arguments = (ENDPOINT, keystone, reader, activity, writer, HeldClock(NOW), 3600)
            revoker = TokenRevoker(*arguments, monotonic=lambda: keystone.now)
            return Bench(keystone, revoker, activity, folder)

        yield begin


@pytest.fixture
def bench(start: Start) -> Bench:
    return start()


def test_revocations_are_a_second_apart(bench: Bench) -> None:
    bench.add("first", "second")
    assert bench.tick() == ["first"]
    assert bench.tick(MIN_INTERVAL / 2) == ["first"]
    assert bench.tick(MIN_INTERVAL / 2) == ["first", "second"]


def test_a_slow_keystone_is_asked_less_often(bench: Bench) -> None:
    bench.keystone.seconds = 2
    bench.add("first", "second")
    assert bench.tick() == ["first"]
    assert bench.tick(19) == ["first"]
    assert bench.tick(1) == ["first", "second"]


def test_a_failed_revocation_is_repeated(bench: Bench) -> None:
    bench.add("token")
    bench.keystone.is_down = True
    assert bench.tick() == []
    bench.keystone.is_down = False
    assert bench.tick(RETRY_SECONDS - 1) == []
    assert bench.tick(1) == ["token"]
    assert bench.tick(RETRY_SECONDS) == ["token"]


def test_a_token_that_cannot_be_revoked_is_given_up(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.add("token")
    bench.keystone.is_down = True
    for _ in range(MAX_ATTEMPTS):
        bench.tick(RETRY_SECONDS)
    bench.keystone.is_down = False
    assert bench.tick(RETRY_SECONDS) == []
    assert "could not revoke a token; leaving it to expire: upstream_timeout" in caplog.text


def test_what_waits_is_bounded(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.add(*(str(number) for number in range(MAX_PENDING)))
    assert not caplog.text
    bench.add("one too many")
    assert "too many pending token revocations" in caplog.text


def test_the_tokens_of_a_disabled_tenant_do_not_wait_for_others(bench: Bench) -> None:
    bench.add(*(str(number) for number in range(MAX_PENDING)))
    bench.open_sessions(3)
    for _ in range(3):
        bench.tick(MIN_INTERVAL)
    assert sorted(bench.keystone.revoked) == ["token 00", "token 01", "token 02"]


def test_sessions_of_another_endpoint_are_left_to_its_own_revoker(bench: Bench) -> None:
    bench.open_sessions(1, "https://other.example")
    assert bench.tick() == []
    assert len(rows(bench.data, sessions)) == 1


def test_while_keystone_fails_sessions_stay_in_the_store(bench: Bench) -> None:
    bench.keystone.is_down = True
    bench.add("token")
    bench.tick()
    bench.open_sessions(1)
    bench.tick(RETRY_SECONDS - 1)
    assert len(rows(bench.data, sessions)) == 1


def test_a_bug_in_a_revocation_is_logged_and_stops_nothing(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.keystone.is_broken = True
    bench.add("first", "second")
    bench.tick()
    assert "could not revoke a token; leaving it to expire" in caplog.text
    bench.keystone.is_broken = False
    assert bench.tick(RETRY_SECONDS) == ["second"]
    run(bench.revoker.close())


def test_after_a_stop_nothing_begins(bench: Bench) -> None:
    bench.add("token")
    run(bench.revoker.close())
    assert bench.tick() == []


def test_several_workers_revoke_each_token_once(start: Start) -> None:
    one, other = start(), start()
    one.open_sessions(SWEEP_SIZE + 2)
    for _ in range(2 * SWEEP_SIZE):
        one.tick(MIN_INTERVAL)
        other.tick()
    assert sorted(one.keystone.revoked) == [f"token {number:02}" for number in range(SWEEP_SIZE + 2)]
    assert not rows(one.data, sessions)


def test_a_stop_ends_what_is_under_way(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.tick()
    bench.add("first", "second")
    bench.keystone.hangs = True
    monkeypatch.setattr(token_revocation, "CLOSE_SECONDS", 0.01)

    async def stop() -> None:
        bench.revoker.tick()
        await asyncio.sleep(0)
        await bench.revoker.close()

    with caplog.at_level("INFO"):
        run(stop())
    assert "stopping with 2 tokens not revoked" in caplog.text

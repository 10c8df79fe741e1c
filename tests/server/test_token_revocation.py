"""Background revocation of tokens: its rate, and what happens when Keystone fails."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import insert

from cloudconsole.core.ports import ClientInfo, CloudCredentials, FederatedUser
from cloudconsole.server import token_revocation
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.token_revocation import MAX_PENDING, MIN_INTERVAL, RETRY_SECONDS, TokenRevoker
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import UpstreamTimeout
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.tables import sessions, tenants
from tests.harness import FakeClock
from tests.server.http.helpers import rows
from tests.stores import open_reader, opened, run, write_transaction

ENDPOINT = "https://cloud.example:5000"
CLIENT = ClientInfo("192.0.2.1", "req-1")
NOW = 1_700_000_000


def credentials(name: str, endpoint: str = ENDPOINT) -> CloudCredentials:
    return CloudCredentials(endpoint, "user", "project", {}, name.encode())


class Keystone:
    """A fake Keystone that records revocations; each takes some seconds of its clock and may fail."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.seconds = 0.0
        self.hangs = self.is_down = self.is_broken = False
        self.revoked: list[str] = []

    async def is_valid(self, access: CloudCredentials, client: ClientInfo) -> bool:
        raise AssertionError("not expected here")

    async def revoke(self, access: CloudCredentials, _client: ClientInfo) -> None:
        self.now += self.seconds
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_down:
            raise UpstreamTimeout
        if self.is_broken:
            raise RuntimeError("a bug")
        self.revoked.append(access.encrypted_token.decode())


@dataclass
class RevokingWorker:
    keystone: Keystone
    revoker: TokenRevoker
    activity: ActivityStore
    data: Path

    def add(self, *names: str) -> None:
        for name in names:
            self.revoker.add(credentials(name), CLIENT)

    def tick(self, seconds: float = 0.0) -> list[str]:
        """Advance the clock, run the revocations that are due, and return all revoked so far."""

        async def tick() -> None:
            previous = object()
            while self.revoker.task is not previous:
                previous = self.revoker.task
                self.revoker.tick()
                if self.revoker.task is not None:
                    await self.revoker.task

        self.keystone.now += seconds
        run(tick())
        return self.keystone.revoked

    def open_sessions(self, count: int, endpoint: str = ENDPOINT) -> None:
        """Open sessions of a disabled tenant."""
        with write_transaction(self.data, "cloud") as connection:
            row = {"id": 7, "name": "acme", "project": f"project@{endpoint}", "disabled": True}
            connection.execute(insert(tenants).values(row))
        for number in range(count):
            name = f"token {number:02}"
            user = FederatedUser("alice", 7, credentials(name, endpoint), NOW + 3600)
            session = NewSession(name.encode(), "seed", NOW + 3600, ())
            self.activity.open_session(LoginAttempt("alice", "192.0.2.1", CLIENT), user, session, NOW)


Start = Callable[[], RevokingWorker]


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start workers that share one store and one Keystone."""
    keystone = Keystone()
    with ExitStack() as stack:
        activity = ActivityStore(stack.enter_context(opened(folder, "activity")))
        reader = stack.enter_context(open_reader(folder))
        writer = Writer("writing", standalone_metrics())
        stack.callback(writer.close)

        def start_worker() -> RevokingWorker:
            arguments = (ENDPOINT, keystone, reader, activity, writer, FakeClock(NOW), 3600)
            revoker = TokenRevoker(*arguments, monotonic=lambda: keystone.now)
            return RevokingWorker(keystone, revoker, activity, folder)

        yield start_worker


@pytest.fixture
def worker(start: Start) -> RevokingWorker:
    return start()


@pytest.mark.parametrize(("seconds", "interval"), [(0, MIN_INTERVAL), (2, 20)])
def test_slow_keystone_gets_fewer_requests(worker: RevokingWorker, seconds: float, interval: float) -> None:
    worker.keystone.seconds = seconds
    worker.add("first", "second")
    assert worker.tick() == ["first"]
    assert worker.tick(interval - 0.5) == ["first"]
    assert worker.tick(0.5) == ["first", "second"]


def test_failed_revocation_is_retried(worker: RevokingWorker) -> None:
    worker.add("token")
    worker.keystone.is_down = True
    assert worker.tick() == []
    worker.keystone.is_down = False
    assert worker.tick(RETRY_SECONDS - 1) == []
    assert worker.tick(1) == ["token"]
    assert worker.tick(RETRY_SECONDS) == ["token"]


def test_revocation_is_abandoned_after_many_attempts(worker: RevokingWorker, caplog: pytest.LogCaptureFixture) -> None:
    worker.add("token")
    worker.keystone.is_down = True
    for _ in range(token_revocation.MAX_ATTEMPTS):
        worker.tick(RETRY_SECONDS)
    worker.keystone.is_down = False
    assert worker.tick(RETRY_SECONDS) == []
    assert "could not revoke a token; leaving it to expire: upstream_timeout" in caplog.text


def test_pending_revocations_are_bounded(worker: RevokingWorker, caplog: pytest.LogCaptureFixture) -> None:
    worker.add(*(str(number) for number in range(MAX_PENDING)))
    assert not caplog.text
    worker.add("one too many")
    assert "too many pending token revocations" in caplog.text


def test_tokens_of_a_disabled_tenant_are_revoked_first(worker: RevokingWorker) -> None:
    worker.add(*(str(number) for number in range(MAX_PENDING)))
    worker.open_sessions(3)
    for _ in range(3):
        worker.tick(MIN_INTERVAL)
    assert sorted(worker.keystone.revoked) == ["token 00", "token 01", "token 02"]


def test_sessions_of_another_endpoint_are_left_alone(worker: RevokingWorker) -> None:
    worker.open_sessions(1, "https://other.example")
    assert worker.tick() == []
    assert len(rows(worker.data, sessions)) == 1


def test_sessions_stay_in_the_store_while_keystone_fails(worker: RevokingWorker) -> None:
    worker.keystone.is_down = True
    worker.add("token")
    worker.tick()
    worker.open_sessions(1)
    worker.tick(RETRY_SECONDS - 1)
    assert len(rows(worker.data, sessions)) == 1


def test_unexpected_error_is_logged_and_stops_nothing(worker: RevokingWorker, caplog: pytest.LogCaptureFixture) -> None:
    worker.keystone.is_broken = True
    worker.add("first", "second")
    worker.tick()
    assert "could not revoke a token; leaving it to expire" in caplog.text
    worker.keystone.is_broken = False
    assert worker.tick(RETRY_SECONDS) == ["second"]
    run(worker.revoker.close())


def test_closed_revoker_starts_nothing(worker: RevokingWorker) -> None:
    worker.add("token")
    run(worker.revoker.close())
    assert worker.tick() == []


def test_several_workers_revoke_each_token_once(start: Start) -> None:
    one, other = start(), start()
    size = token_revocation.SWEEP_SIZE
    one.open_sessions(size + 2)
    for _ in range(2 * size):
        one.tick(MIN_INTERVAL)
        other.tick()
    assert sorted(one.keystone.revoked) == [f"token {number:02}" for number in range(size + 2)]
    assert not rows(one.data, sessions)


def test_closing_cancels_a_running_revocation(
    worker: RevokingWorker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.tick()
    worker.add("first", "second")
    worker.keystone.hangs = True
    monkeypatch.setattr(token_revocation, "CLOSE_SECONDS", 0.01)

    async def stop() -> None:
        worker.revoker.tick()
        await asyncio.sleep(0)
        await worker.revoker.close()

    with caplog.at_level("INFO"):
        run(stop())
    assert "stopping with 2 tokens not revoked" in caplog.text

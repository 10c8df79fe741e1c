"""Sessions: revocation by the operator, expiry, several workers, and batched writes of their use."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import pytest

from cloudconsole.backends.embedded import identity
from cloudconsole.core.clock import SystemClock
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http import sessions as module
from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.activity_writes import TOUCH_SECONDS, ActivityStore
from cloudconsole.store.session_lookup import Session
from cloudconsole.store.tables import sessions
from tests.harness import FAST_HASHER, ApiClient, FakeClock, InProcessTransport, async_test
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import change_account, drain_tasks, is_live, remove_account, rows

CHANGED_PASSWORD: Final = {"password_hash": FAST_HASHER.hash("changed"), "version": 12_345}


@pytest.fixture(autouse=True)
def _no_batching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write uses of sessions without waiting for more of them."""
    monkeypatch.setattr(module, "TOUCH_BATCH_SECONDS", 0.001)


def log_in(transport: InProcessTransport, username: str = "demo") -> ApiClient:
    client = ApiClient(transport)
    assert client.login(username, f"console-{username}").status == 200
    return client


def seen_at(data: Path) -> list[int]:
    return [row.seen_at for row in rows(data, sessions)]


def test_session_is_not_bound_to_an_address(transport: InProcessTransport, demo: ApiClient) -> None:
    transport.address = "2001:db8::1"
    assert demo.call("GetUrlList").status == 200


# Ended by the operator.


@pytest.mark.parametrize(
    "end",
    [
        lambda data: change_account(data, "demo", disabled=True),
        lambda data: change_account(data, "demo", **CHANGED_PASSWORD),
        lambda data: remove_account(data, "demo"),
    ],
    ids=["disable", "change password", "remove"],
)
def test_change_of_an_account_ends_its_sessions_on_every_worker(
    transport: InProcessTransport,
    demo: ApiClient,
    settings: Settings,
    start_console: StartConsole,
    data: Path,
    end: Callable[[Path], None],
) -> None:
    second, other = log_in(start_console(settings)), log_in(transport, "other")
    second.transport, demo.transport = demo.transport, second.transport
    assert [client.call("GetUrlList").status for client in (demo, second, other)] == [200, 200, 200]
    end(data)
    assert demo.call("GetUrlList").error == "login_required"
    assert second.logout().error == "login_required"
    assert demo.login().error == "invalid_credentials"
    assert other.call("GetUrlList").status == 200


def test_account_disabled_during_login_gets_no_live_session(
    transport: InProcessTransport, anonymous_client: ApiClient, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disable_meanwhile(_hash: str, _password: str) -> bool:
        change_account(data, "demo", disabled=True, version=12_345)
        return True

    monkeypatch.setattr(identity, "password_matches", disable_meanwhile)
    anonymous_client.login()
    assert not is_live(transport, anonymous_client.cookies["sessionid"])


# Expiry.


@pytest.mark.parametrize(("remaining", "status"), [(0.001, 200), (0, 401)])
def test_session_expires_at_its_lifetime_and_its_idle_timeout(
    settings: Settings, clock: FakeClock, start_console: StartConsole, remaining: float, status: int
) -> None:
    transport = start_console(replace(settings, session_idle=100, session_lifetime=250))
    demo = log_in(transport)
    end = clock.moment + 250
    for _ in range(3):
        clock.moment += 80
        assert demo.call("GetUrlList").status == 200
        drain_tasks(transport)
    idle = log_in(transport)
    clock.moment = end - remaining
    assert demo.call("GetUrlList").status == status
    clock.moment += 90
    assert idle.call("GetUrlList").status == status


def test_welcome_on_one_worker_extends_the_session_on_another(
    transport: InProcessTransport,
    demo: ApiClient,
    settings: Settings,
    start_console: StartConsole,
    clock: FakeClock,
) -> None:
    second = start_console(settings)
    clock.moment += settings.session_idle - 1
    demo.open()
    drain_tasks(transport)
    clock.moment += settings.session_idle - 1
    assert is_live(second, demo.cookies["sessionid"])


@pytest.mark.parametrize(("after", "is_written"), [(59, False), (60, True)])
def test_use_is_written_at_most_once_a_minute(
    transport: InProcessTransport,
    demo: ApiClient,
    clock: FakeClock,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
    is_written: bool,
) -> None:
    written: list[float] = []
    touch_sessions = ActivityStore.touch_sessions

    def recording(self: ActivityStore, moments: Mapping[bytes, int]) -> None:
        written.extend(moments.values())
        touch_sessions(self, moments)

    monkeypatch.setattr(ActivityStore, "touch_sessions", recording)
    start = int(clock.moment)
    clock.moment += after
    for _ in range(2):
        for _ in range(20):
            demo.call("GetUrlList")
        drain_tasks(transport)
    assert written == ([start + after] if is_written else [])
    assert seen_at(data) == [start + after if is_written else start]


def test_request_of_an_expired_session_writes_nothing(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, settings: Settings, data: Path
) -> None:
    before = seen_at(data)
    clock.moment += settings.session_idle
    demo.call("GetUrlList")
    drain_tasks(transport)
    assert seen_at(data) == before


# Another worker on the same data directory.


def test_another_worker_sees_login_and_logout_at_once(
    demo: ApiClient, settings: Settings, start_console: StartConsole
) -> None:
    second = start_console(settings)
    session_id = demo.cookies["sessionid"]
    assert is_live(second, session_id)
    demo.logout()
    assert not is_live(second, session_id)
    demo.login()
    assert is_live(second, demo.cookies["sessionid"])


# Batched writes of session touches, to a fake store that records them.

NOW: Final = 1_000_000


class FakeStore:
    """Fake of the activity store and the session cache."""

    def __init__(self) -> None:
        self.written: list[dict[bytes, int]] = []
        self.seen: dict[bytes, int] = {}
        self.fails = False

    def touch_sessions(self, moments: Mapping[bytes, int]) -> None:
        if self.fails:
            raise Unavailable
        self.written.append(dict(moments))

    def record_seen(self, moments: Mapping[bytes, int]) -> None:
        self.seen |= moments


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def finder(store: FakeStore) -> Iterator[SessionFinder]:
    writer, unused = Writer("writes", standalone_metrics()), cast("Any", None)
    fake = cast("Any", store)
    yield SessionFinder(unused, fake, unused, RequestSequence(), fake, writer, SystemClock(), unused)
    writer.close()


def session(name: bytes) -> Session:
    return Session(name, 1, "alice", "seed", NOW, NOW + 10_000, "tenant", 1)


@pytest.fixture
def endless_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write batches only by a flush."""
    monkeypatch.setattr(module, "TOUCH_BATCH_SECONDS", 3600)


@pytest.mark.usefixtures("endless_batch")
@async_test
async def test_flush_writes_batched_touches_at_once(finder: SessionFinder, store: FakeStore) -> None:
    for name, later in ((b"a", 60), (b"b", 61), (b"a", 62)):
        finder.touch(session(name), NOW + later)
        # The batch is begun with the first touch; the others must still be part of it.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await asyncio.wait_for(finder.flush_touches(), 120)
    assert store.written == [{b"a": NOW + 62, b"b": NOW + 61}]
    assert store.seen == store.written[0]


@pytest.mark.usefixtures("endless_batch")
@async_test
async def test_touches_after_a_flush_are_batched_again_and_failed_ones_retried(
    finder: SessionFinder, store: FakeStore
) -> None:
    for name, fails in ((b"a", True), (b"a", False), (b"b", False)):
        store.fails = fails
        finder.touch(session(name), NOW + TOUCH_SECONDS)
        await asyncio.wait_for(finder.flush_touches(), 120)
        assert (name in store.seen) is not fails
    assert [list(each) for each in store.written] == [[b"a"], [b"b"]]


@async_test
async def test_a_batch_is_written_after_a_moment(finder: SessionFinder, store: FakeStore) -> None:
    finder.touch(session(b"a"), NOW + TOUCH_SECONDS)
    async with asyncio.timeout(120):
        # The write happens in a thread, which sends no event.
        while not store.seen:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert store.written == [{b"a": NOW + TOUCH_SECONDS}]

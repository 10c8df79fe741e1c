"""Batched writes of session touches, to a fake store that records them."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import cast

import pytest

from cloudconsole.core.clock import SystemClock
from cloudconsole.core.ports import RandomSource
from cloudconsole.server.http import sessions as module
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.activity_writes import TOUCH_SECONDS, ActivityStore
from cloudconsole.store.base import ChangeFeed
from cloudconsole.store.session_lookup import Session, SessionCache

NOW = 1_000_000


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
def sessions(store: FakeStore) -> Iterator[SessionFinder]:
    writer = Writer("writes", standalone_metrics())
    tokens, randomness = cast("CsrfTokens", None), cast("RandomSource", None)
    yield SessionFinder(
        tokens,
        cast("SessionCache", store),
        cast("ChangeFeed", None),
        RequestSequence(),
        cast("ActivityStore", store),
        writer,
        SystemClock(),
        randomness,
    )
    writer.close()


def session(name: bytes) -> Session:
    return Session(name, 1, "alice", "seed", NOW, NOW + 10_000, "tenant", 1)


@pytest.fixture
def _endless_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are written only by a flush."""
    monkeypatch.setattr(module, "TOUCH_BATCH_SECONDS", 3600)


@pytest.mark.usefixtures("_endless_batch")
def test_flush_writes_batched_touches_at_once(sessions: SessionFinder, store: FakeStore) -> None:
    async def run() -> None:
        for name, later in ((b"a", 60), (b"b", 61), (b"a", 62)):
            sessions.touch(session(name), NOW + later)
            # The batch is begun with the first touch; the others must still be part of it.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await asyncio.wait_for(sessions.flush_touches(), 120)

    asyncio.run(run())
    assert store.written == [{b"a": NOW + 62, b"b": NOW + 61}]
    assert store.seen == store.written[0]


@pytest.mark.usefixtures("_endless_batch")
def test_touches_after_a_flush_are_batched_again(sessions: SessionFinder, store: FakeStore) -> None:
    async def run() -> None:
        for name in (b"a", b"b"):
            sessions.touch(session(name), NOW + TOUCH_SECONDS)
            await asyncio.wait_for(sessions.flush_touches(), 120)

    asyncio.run(run())
    assert [list(each) for each in store.written] == [[b"a"], [b"b"]]


def test_a_batch_is_written_after_a_moment(sessions: SessionFinder, store: FakeStore) -> None:
    async def run() -> None:
        sessions.touch(session(b"a"), NOW + TOUCH_SECONDS)
        async with asyncio.timeout(120):
            # The write happens in a thread, which sends no event.
            while not store.seen:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    asyncio.run(run())
    assert store.written == [{b"a": NOW + TOUCH_SECONDS}]


def test_a_touch_is_tried_again_after_a_failed_write(sessions: SessionFinder, store: FakeStore) -> None:
    async def run() -> None:
        for fails in (True, False):
            store.fails = fails
            sessions.touch(session(b"a"), NOW + TOUCH_SECONDS)
            await sessions.flush_touches()
            assert (b"a" in store.seen) is not fails

    asyncio.run(run())

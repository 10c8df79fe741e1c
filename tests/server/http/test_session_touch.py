"""Uses of sessions, gathered and written together; what they are written with only notes it."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import cast

import pytest

from cloudconsole.core.clock import SystemClock
from cloudconsole.core.entropy import RandomSource
from cloudconsole.server.http import sessions as module
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.http.sessions import Sessions
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.activity import TOUCH_SECONDS, ActivityStore
from cloudconsole.store.base import ChangeFeed
from cloudconsole.store.sessions import Session, SessionCache

NOW = 1_000_000


class Notes:
    """Takes the places of what writes uses down and of what remembers them."""

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
def notes() -> Notes:
    return Notes()


@pytest.fixture
def sessions(notes: Notes) -> Iterator[Sessions]:
    writer = Writer("writes", standalone_metrics())
    tokens, randomness = cast("CsrfTokens", None), cast("RandomSource", None)
    yield Sessions(
        tokens,
        cast("SessionCache", notes),
        cast("ChangeFeed", None),
        RequestSequence(),
        cast("ActivityStore", notes),
        writer,
        SystemClock(),
        randomness,
    )
    writer.close()


def used(name: bytes) -> Session:
    return Session(name, 1, "alice", "seed", NOW, NOW + 10_000, "tenant", 1)


@pytest.fixture
def _for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses are gathered without an end."""
    monkeypatch.setattr(module, "TOUCH_BATCH_SECONDS", 3600)


@pytest.mark.usefixtures("_for_ever")
def test_what_was_gathered_is_written_at_once_for_whoever_waits_for_it(sessions: Sessions, notes: Notes) -> None:
    async def play() -> None:
        for name, later in ((b"a", 60), (b"b", 61), (b"a", 62)):
            sessions.touch(used(name), NOW + later)
        await asyncio.sleep(0.01)
        assert notes.written == []
        await asyncio.wait_for(sessions.flush_touches(), 60)

    asyncio.run(play())
    assert notes.written == [{b"a": NOW + 62, b"b": NOW + 61}]
    assert notes.seen == notes.written[0]


@pytest.mark.usefixtures("_for_ever")
def test_what_comes_after_that_is_gathered_again(sessions: Sessions, notes: Notes) -> None:
    async def play() -> None:
        for name in (b"a", b"b"):
            sessions.touch(used(name), NOW + TOUCH_SECONDS)
            await asyncio.sleep(0.01)
            assert len(notes.written) == (name == b"b")
            await asyncio.wait_for(sessions.flush_touches(), 60)

    asyncio.run(play())
    assert [list(each) for each in notes.written] == [[b"a"], [b"b"]]


def test_they_are_gathered_for_a_moment_only(sessions: Sessions, notes: Notes) -> None:
    async def play() -> None:
        sessions.touch(used(b"a"), NOW + TOUCH_SECONDS)
        async with asyncio.timeout(60):
            while not notes.seen:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    asyncio.run(play())
    assert notes.written == [{b"a": NOW + TOUCH_SECONDS}]


def test_a_use_that_cannot_be_written_is_not_known_and_the_next_one_is_tried(sessions: Sessions, notes: Notes) -> None:
    async def play() -> None:
        for fails in (True, False):
            notes.fails = fails
            sessions.touch(used(b"a"), NOW + TOUCH_SECONDS)
            await sessions.flush_touches()
            assert (b"a" in notes.seen) is not fails

    asyncio.run(play())

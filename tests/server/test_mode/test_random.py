"""Seeded bytes, and that no others than the system's are used without a seed."""

import os
import random
from collections.abc import Callable, Iterator

import pytest

from cloudconsole.core.entropy import SYSTEM_RANDOM
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.connection_limits import LimitedProtocol
from cloudconsole.server.test_mode.clock import SeededRandomSource
from cloudconsole.server.test_mode.runtime import ServerRuntime
from tests.harness import Caller, HeldClock, InProcess


def taken(randomness: SeededRandomSource) -> list[bytes]:
    return [randomness.token_bytes(24) for _ in range(3)]


def test_a_seed_decides_all_bytes() -> None:
    assert taken(SeededRandomSource("a")) == taken(SeededRandomSource("a"))
    assert taken(SeededRandomSource("a")) != taken(SeededRandomSource("b"))


def test_no_bytes_come_twice() -> None:
    assert len(set(taken(SeededRandomSource("a")))) == 3


def test_they_are_the_same_on_every_machine() -> None:
    assert SeededRandomSource("7").token_bytes(8).hex() == "eb6f99900b21c3f7"


def test_they_restart_at_the_kept_place() -> None:
    randomness = SeededRandomSource("a")
    randomness.token_bytes(32)
    randomness.save_position()
    first = taken(randomness)
    randomness.restart()
    assert taken(randomness) == first


@pytest.fixture
def python_numbers() -> Iterator[None]:
    """Python's own numbers go on afterwards as if nothing had been."""
    state = random.getstate()
    yield
    random.setstate(state)


@pytest.mark.usefixtures("python_numbers")
def test_request_ids_restart_too() -> None:
    randomness = SeededRandomSource("a")
    randomness.restart()
    first = random.getrandbits(64)
    randomness.restart()
    assert random.getrandbits(64) == first


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All that is taken from the system's own source of secrets."""
    given: list[bytes] = []
    real: Callable[[int], bytes] = os.urandom

    def noting(size: int) -> bytes:
        given.append(real(size))
        return given[-1]

    monkeypatch.setattr(os, "urandom", noting)
    return given


def test_without_a_seed_every_token_comes_from_the_systems_secrets(
    settings: Settings, clock: HeldClock, drawn: list[bytes]
) -> None:
    wire = InProcess(Console(settings, clock))
    caller = Caller(wire)
    caller.open()
    anonymous = caller.cookies["sessionid"]
    assert caller.login().status == 200
    wire.close()
    key, token, anonymous_bytes, session_bytes = drawn
    assert len(key) == 32
    assert caller.token.startswith(token.hex())
    assert anonymous == "a" + anonymous_bytes.hex()
    assert caller.cookies["sessionid"] == "s" + session_bytes.hex()


def test_an_ordinary_console_has_nothing_of_a_desk() -> None:
    desk = ServerRuntime()
    assert desk.randomness is SYSTEM_RANDOM
    assert desk.protocol is LimitedProtocol
    assert desk.make_controls is None
    assert desk.describe() == []

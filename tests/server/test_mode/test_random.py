"""Seeded random bytes; without a seed, only the system's randomness is used."""

import os
import random
from collections.abc import Callable, Iterator

import pytest

from cloudconsole.core.ports import SYSTEM_RANDOM
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.protocol import LimitedProtocol
from cloudconsole.server.test_mode.clock import SeededRandomSource
from cloudconsole.server.test_mode.runtime import ServerRuntime
from tests.harness import ApiClient, FakeClock, InProcessTransport


def draw(source: SeededRandomSource) -> list[bytes]:
    return [source.token_bytes(24) for _ in range(3)]


def test_seed_determines_all_bytes() -> None:
    assert draw(SeededRandomSource("a")) == draw(SeededRandomSource("a"))
    assert draw(SeededRandomSource("a")) != draw(SeededRandomSource("b"))


def test_seeded_bytes_do_not_repeat() -> None:
    assert len(set(draw(SeededRandomSource("a")))) == 3


def test_seeded_bytes_are_the_same_on_every_machine() -> None:
    assert SeededRandomSource("7").token_bytes(8).hex() == "eb6f99900b21c3f7"


def test_seeded_bytes_restart_at_the_saved_position() -> None:
    source = SeededRandomSource("a")
    source.token_bytes(32)
    source.save_position()
    first = draw(source)
    source.restart()
    assert draw(source) == first


@pytest.fixture
def restore_random() -> Iterator[None]:
    """Restore the state of Python's random module afterwards."""
    state = random.getstate()
    yield
    random.setstate(state)


@pytest.mark.usefixtures("restore_random")
def test_request_ids_restart_with_the_source() -> None:
    source = SeededRandomSource("a")
    source.restart()
    first = random.getrandbits(64)
    source.restart()
    assert random.getrandbits(64) == first


@pytest.fixture
def system_bytes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All bytes drawn from the system's random source."""
    drawn: list[bytes] = []
    real: Callable[[int], bytes] = os.urandom

    def record(size: int) -> bytes:
        drawn.append(real(size))
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", record)
    return drawn


def test_tokens_use_system_randomness_without_a_seed(
    settings: Settings, clock: FakeClock, system_bytes: list[bytes]
) -> None:
    transport = InProcessTransport(Console(settings, clock))
    client = ApiClient(transport)
    client.open()
    anonymous = client.cookies["sessionid"]
    assert client.login().status == 200
    transport.close()
    key, token, anonymous_bytes, session_bytes = system_bytes
    assert len(key) == 32
    assert client.token.startswith(token.hex())
    assert anonymous == "a" + anonymous_bytes.hex()
    assert client.cookies["sessionid"] == "s" + session_bytes.hex()


def test_ordinary_console_has_no_test_mode_features() -> None:
    runtime = ServerRuntime()
    assert runtime.randomness is SYSTEM_RANDOM
    assert runtime.protocol is LimitedProtocol
    assert runtime.make_controls is None
    assert runtime.describe() == []

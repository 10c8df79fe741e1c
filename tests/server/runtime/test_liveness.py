"""When a worker counts as frozen: by its own beats, and only while the supervisor looks."""

from cloudconsole.server.runtime.supervisor import POLL_SECONDS, FrozenWorkerDetector

SECONDS = 3
LOOKS = round(SECONDS / POLL_SECONDS)


def test_a_worker_that_stops_beating_is_frozen_after_the_time() -> None:
    liveness = FrozenWorkerDetector(SECONDS)
    looks = [liveness.frozen({0: 7, 1: look + 1}) for look in range(LOOKS + 1)]
    assert looks == [[]] * LOOKS + [[0]]


def test_one_beat_starts_the_time_again() -> None:
    liveness = FrozenWorkerDetector(SECONDS)
    assert [liveness.frozen({0: 1 + look // LOOKS}) for look in range(5 * LOOKS)] == [[]] * (5 * LOOKS)


def test_a_worker_that_has_not_begun_to_beat_is_starting() -> None:
    liveness = FrozenWorkerDetector(SECONDS)
    assert [liveness.frozen({0: 0}) for _ in range(3 * LOOKS)] == [[]] * (3 * LOOKS)


def test_zero_is_off() -> None:
    liveness = FrozenWorkerDetector(0)
    assert [liveness.frozen({0: 1}) for _ in range(3 * LOOKS)] == [[]] * (3 * LOOKS)

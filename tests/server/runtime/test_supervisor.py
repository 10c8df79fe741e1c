"""Frozen workers are detected by missing heartbeats, counted only while the supervisor polls."""

from cloudconsole.server.runtime.supervisor import POLL_SECONDS, FrozenWorkerDetector

TIMEOUT = 3
POLLS = round(TIMEOUT / POLL_SECONDS)


def test_worker_without_heartbeat_is_frozen_after_the_timeout() -> None:
    detector = FrozenWorkerDetector(TIMEOUT)
    results = [detector.frozen({0: 7, 1: poll + 1}) for poll in range(POLLS + 1)]
    assert results == [[]] * POLLS + [[0]]


def test_heartbeat_restarts_the_timeout() -> None:
    detector = FrozenWorkerDetector(TIMEOUT)
    assert [detector.frozen({0: 1 + poll // POLLS}) for poll in range(5 * POLLS)] == [[]] * (5 * POLLS)


def test_worker_before_its_first_heartbeat_is_not_frozen() -> None:
    detector = FrozenWorkerDetector(TIMEOUT)
    assert [detector.frozen({0: 0}) for _ in range(3 * POLLS)] == [[]] * (3 * POLLS)


def test_zero_disables_detection() -> None:
    detector = FrozenWorkerDetector(0)
    assert [detector.frozen({0: 1}) for _ in range(3 * POLLS)] == [[]] * (3 * POLLS)

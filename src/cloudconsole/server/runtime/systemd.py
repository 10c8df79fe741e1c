"""Notifications to a service manager, as sd_notify(3) specifies them; for systemd's Type=notify."""

import logging
import os
import socket
import time
from collections.abc import Callable, MutableMapping
from enum import Enum
from typing import Final, Self

log = logging.getLogger(__name__)

SEND_SECONDS: Final = 1
"""A service manager that does not read must not hold up the console."""

_MICROSECONDS: Final = 1_000_000


class State(Enum):
    STARTING = ""
    READY = "READY=1"
    RELOADING = "RELOADING=1"
    STOPPING = "STOPPING=1"


class Notifier:
    """Sends each change of state once, and watchdog pings; without an address it sends nothing.

    Only the main process has one with an address: systemd discards notifications of others.
    """

    def __init__(
        self,
        address: str | None = None,
        watchdog_seconds: float = 0,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address
        self._ping_seconds = watchdog_seconds / 2
        self._seconds = seconds
        self._pinged_at = seconds()
        self._state = State.STARTING

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> Self:
        """Read the variables that systemd sets, and remove them, so that no child process notifies it."""
        address = environment.pop("NOTIFY_SOCKET", None)
        interval = environment.pop("WATCHDOG_USEC", "0")
        is_ours = environment.pop("WATCHDOG_PID", None) in (None, str(os.getpid()))
        return cls(address, int(interval) / _MICROSECONDS if is_ours and interval.isdecimal() else 0)

    def ready(self) -> None:
        """Report that all workers accept connections, or that a reload has finished."""
        if self._state in (State.STARTING, State.RELOADING):
            self._enter(State.READY)

    def reloading(self) -> None:
        if self._state is State.READY:
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            self._enter(State.RELOADING, f"MONOTONIC_USEC={now}")

    def stopping(self) -> None:
        if self._state is not State.STOPPING:
            self._enter(State.STOPPING)

    def ping(self) -> None:
        """Send a ping if half of the watchdog interval has elapsed; the monitored loop calls this often."""
        if self._ping_seconds and self._seconds() - self._pinged_at >= self._ping_seconds:
            self._pinged_at = self._seconds()
            self._send("WATCHDOG=1")

    def _enter(self, state: State, *more: str) -> None:
        self._state = state
        self._send("\n".join([state.value, *more]))

    def _send(self, text: str) -> None:
        if self._address is None:
            return
        # A leading @ stands for the abstract namespace of Linux.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(SEND_SECONDS)
                sender.sendto(text.encode(), address)
        except OSError as problem:
            log.warning("cannot notify the service manager: %s", problem)

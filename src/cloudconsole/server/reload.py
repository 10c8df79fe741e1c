"""SIGHUP: reload what can change without a restart, which is the certificate; it never ends a process."""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final

from cloudconsole.server.tls import Certificate

log = logging.getLogger(__name__)

RELOAD_SIGNAL: Final = signal.SIGHUP


def hold_reloads() -> None:
    """Keep the signal pending until a process can handle it; without a handler it would end the process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [RELOAD_SIGNAL])


def reload_on_signal(reload: Callable[[], None]) -> None:
    """Call `reload` in the running loop for each signal from now on, and at once for a pending one."""
    loop = asyncio.get_running_loop()

    def handle(_signal: int, _frame: FrameType | None) -> None:
        # The loop is closed while the process ends.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(reload)

    # Not by the loop's add_signal_handler: when that loop closes, it restores the default, which ends the process.
    signal.signal(RELOAD_SIGNAL, handle)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [RELOAD_SIGNAL])


def reload_certificate(certificate: Certificate | None) -> None:
    """Read the certificate's files again, and log what came of it."""
    if certificate is None:
        fields = {"event": "reload", "reloaded": None}
        log.info("SIGHUP: nothing to reload, no certificate is set", extra={"fields": fields})
    elif certificate.renew():
        fields = {"event": "reload", "reloaded": "certificate"}
        log.info("SIGHUP: reloaded the certificate", extra={"fields": fields})
        certificate.warn_of_expiry()

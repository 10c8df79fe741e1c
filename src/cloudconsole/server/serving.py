"""Serving: one listening socket, one or several worker processes on it, and a stop that loses no call."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final

import uvicorn

from cloudconsole.server.app import Console
from cloudconsole.server.http.protocol import guarded_protocol
from cloudconsole.server.settings import Settings
from cloudconsole.server.tls import RENEW_SIGNAL, BoundedLoop, Certificate, renew_on_signal

log = logging.getLogger(__name__)

BACKLOG: Final = 2048
RESTART_SECONDS: Final = 1.0
STOP_MARGIN_SECONDS: Final = 5
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
FORK_SIGNALS: Final = (*STOP_SIGNALS, RENEW_SIGNAL)
"""They wait while a worker is being started."""


class ListenError(Exception):
    """The address cannot be had; the text says why and what mends it."""


def bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        raise ListenError(
            f"cannot listen on {host} port {port}: {problem.strerror}; choose another port or host"
        ) from problem
    return listener


def serve(settings: Settings, listener: socket.socket, certificate: Certificate | None = None) -> int:
    """Serve until told to stop, by https where there is a certificate; gives the exit code."""
    if settings.workers == 1:
        return run_worker(settings, listener, certificate)
    return Supervisor(settings, listener, certificate).run()


class DrainingServer(uvicorn.Server):
    """On a signal: what is under way finishes, what is new gets 503, and then the process ends."""

    def __init__(self, config: uvicorn.Config, console: Console, grace: float) -> None:
        super().__init__(config)
        self._console = console
        self._grace = grace
        self._stop_by: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.drain()

    def drain(self) -> None:
        if self._stop_by is None:
            self._console.draining = True
            self._stop_by = time.monotonic() + self._grace

    async def on_tick(self, counter: int) -> bool:
        if self._stop_by is not None and (self._console.in_flight == 0 or time.monotonic() >= self._stop_by):
            self.should_exit = True
        return await super().on_tick(counter)


def run_worker(
    settings: Settings, listener: socket.socket, certificate: Certificate | None, parent_pipe: int | None = None
) -> int:
    """One worker process; where it has a parent, it also stops when that is gone."""
    console = Console(settings)
    config = uvicorn.Config(
        console,
        http=guarded_protocol(settings.request_timeout),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
        headers=https_headers(settings),
        ssl_context_factory=None if certificate is None else lambda *_: certificate.context,
    )
    server = DrainingServer(config, console, settings.stop_grace)

    async def main() -> None:
        if parent_pipe is not None:
            _call_when_closed(parent_pipe, server.drain)
        if certificate is not None:
            renew_on_signal(certificate)
        await server.serve(sockets=[listener])

    try:
        with asyncio.Runner(loop_factory=lambda: BoundedLoop(settings.request_timeout)) as runner:
            runner.run(main())
    finally:
        console.close()
    return 0


def https_headers(settings: Settings) -> list[tuple[str, str]]:
    """What keeps browsers to https; never on loopback, where it would bind every service of the machine."""
    if settings.hsts and settings.always_https and not settings.only_this_machine:
        return [("Strict-Transport-Security", f"max-age={settings.hsts}")]
    return []


def _call_when_closed(pipe: int, action: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def closed() -> None:
        loop.remove_reader(pipe)
        action()

    loop.add_reader(pipe, closed)


class Supervisor:
    """Starts the workers, starts a dead one again, and hands signals on to all."""

    def __init__(self, settings: Settings, listener: socket.socket, certificate: Certificate | None) -> None:
        self._settings = settings
        self._listener = listener
        self._certificate = certificate
        self._started: dict[int, float] = {}
        self._stopping = False
        # Never written to: its closing, however this process ends, tells the workers that they are alone.
        self._pipe_read, self._pipe_write = os.pipe()

    def run(self) -> int:
        for sig in STOP_SIGNALS:
            signal.signal(sig, self._stop)
        if self._certificate is not None:
            signal.signal(RENEW_SIGNAL, lambda *_: self._send_all(RENEW_SIGNAL))
        for _ in range(self._settings.workers):
            self._start_worker()
        while self._started:
            self._reap()
        return 0

    def _start_worker(self) -> None:
        # A signal waits until we know the new process, and it has put off our handler for its own.
        signal.pthread_sigmask(signal.SIG_BLOCK, FORK_SIGNALS)
        if self._certificate is not None:
            self._certificate.renew()
        process = os.fork()
        if process:
            self._started[process] = time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, FORK_SIGNALS)
            if self._stopping:
                os.kill(process, signal.SIGTERM)
            return
        code = 1
        try:
            for sig in STOP_SIGNALS:
                signal.signal(sig, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
            os.close(self._pipe_write)
            code = run_worker(self._settings, self._listener, self._certificate, self._pipe_read)
        except BaseException:
            log.exception("a worker failed")
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        try:
            process, status = os.wait()
        except ChildProcessError:
            self._started.clear()
            return
        started = self._started.pop(process, 0.0)
        if self._stopping:
            return
        log.error("worker %d ended (%s); starting another", process, _how(status))
        # A worker that cannot even start must not be started in a tight loop.
        time.sleep(max(0.0, RESTART_SECONDS - (time.monotonic() - started)))
        if not self._stopping:
            self._start_worker()

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        if not self._stopping:
            self._stopping = True
            self._send_all(signal.SIGTERM)
            signal.signal(signal.SIGALRM, self._kill)
            signal.alarm(self._settings.stop_grace + STOP_MARGIN_SECONDS)

    def _kill(self, _signal: int, _frame: FrameType | None) -> None:
        self._send_all(signal.SIGKILL)

    def _send_all(self, sig: signal.Signals) -> None:
        for process in self._started:
            # One that ended this very moment is not struck off yet.
            with suppress(ProcessLookupError):
                os.kill(process, sig)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"

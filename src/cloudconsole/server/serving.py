"""Serving: the listening sockets, and one worker process with a stop that loses no call."""

import asyncio
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

import uvicorn

from cloudconsole.server.app import Console
from cloudconsole.server.desk.desk import Desk
from cloudconsole.server.http.protocol import guarded_protocol
from cloudconsole.server.lifetime import STOP_SIGNALS, Ending
from cloudconsole.server.logs import sparing
from cloudconsole.server.observing.meter import Meter
from cloudconsole.server.observing.pulse import Pulse
from cloudconsole.server.settings import Settings
from cloudconsole.server.tls import BoundedLoop, Certificate, renew_on_signal

log = logging.getLogger(__name__)

BACKLOG: Final = 2048
MOST_UNSENT: Final = 128 * 1024
"""Bytes of answers that wait in the system for a caller to read, on one connection."""
OTHER_FILES: Final = 100
"""Open files that a worker needs besides its connections."""


class ListenError(Exception):
    """The address cannot be had; the text says why and what mends it."""


def bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            # Connections inherit it: for a caller that does not read, the system would keep megabytes.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MOST_UNSENT)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        raise ListenError(
            f"cannot listen on {host} port {port}: {problem.strerror}; choose another port or host"
        ) from problem
    return listener


def bind_metrics(settings: Settings) -> socket.socket | None:
    """The metrics' own listening socket, where an address for it is set."""
    if settings.metrics is None:
        return None
    try:
        return bind(*settings.metrics)
    except ListenError as problem:
        raise ListenError(f"metrics: {problem}") from problem


class DrainingServer(uvicorn.Server):
    """On a signal: what is under way finishes, what is new gets 503, and then the process ends."""

    def __init__(self, config: uvicorn.Config, console: Console, grace: float) -> None:
        super().__init__(config)
        self._console = console
        self._grace = grace
        self._stop_by: float | None = None
        self.ending = Ending(signal=None, drained=True)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # By now they have our handlers; one that has waited comes at once.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._stop_by is None:
            self.ending = self.ending._replace(signal=sig)
        self.drain()

    def drain_without_parent(self) -> None:
        log.error("the parent process is gone: stopping")
        self.drain()

    def drain(self) -> None:
        if self._stop_by is None:
            self._console.draining = True
            self._stop_by = time.monotonic() + self._grace

    async def on_tick(self, counter: int) -> bool:
        if self._stop_by is not None:
            self._console.hurry()
        if self._stop_by is not None and (self._console.in_flight == 0 or time.monotonic() >= self._stop_by):
            self.should_exit = True
            self.ending = self.ending._replace(drained=self._console.in_flight == 0)
        return await super().on_tick(counter)


def run_worker(
    settings: Settings,
    listener: socket.socket,
    certificate: Certificate | None,
    meter: Meter,
    desk: Desk,
    parent_pipe: int | None = None,
) -> Ending:
    """One worker process; where it has a parent, it also stops when that is gone."""
    meter.begin()
    places = room_for(settings.max_connections)
    desk.begin(settings.data)
    console = Console(settings, meter=meter, desk=desk)
    config = uvicorn.Config(
        console,
        http=guarded_protocol(
            settings.request_timeout,
            console.arrivals,
            meter,
            desk.protocol,
            max_connections=places,
        ),
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

    def beat() -> None:
        console.take_readings()
        sparing.tell_left_out()

    async def main() -> None:
        if parent_pipe is not None:
            call_when_closed(parent_pipe, server.drain_without_parent)
        if certificate is not None:
            renew_on_signal(certificate)
        Pulse(meter, beat).start()
        await server.serve(sockets=[listener])
        await console.leave()

    try:
        with asyncio.Runner(loop_factory=lambda: BoundedLoop(settings.request_timeout)) as runner:
            runner.run(main())
    finally:
        console.close()
        sparing.tell_left_out(until_now=True)
    return server.ending


def room_for(connections: int) -> int:
    """As many of these connections as the system lets us have, after asking it for as many files as that takes."""
    wanted = connections + OTHER_FILES
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if least != unlimited and least < wanted:
        least = wanted if most == unlimited else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))
    if least == unlimited or least >= wanted:
        return connections
    log.warning("max_connections is %d, but a limit of %d open files leaves room for fewer", connections, least)
    return max(1, least - OTHER_FILES)


def https_headers(settings: Settings) -> list[tuple[str, str]]:
    """What keeps browsers to https; never on loopback, where it would bind every service of the machine."""
    if settings.hsts and settings.always_https and not settings.only_this_machine:
        return [("Strict-Transport-Security", f"max-age={settings.hsts}")]
    return []


def call_when_closed(pipe: int, action: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def look() -> None:
        if not os.read(pipe, 4096):
            loop.remove_reader(pipe)
            action()

    loop.add_reader(pipe, look)

"""Worker process: sockets, serving, graceful shutdown, start and stop log lines."""

import asyncio
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Final, NamedTuple, cast

import uvicorn
from typing_extensions import override

from cloudconsole._version import __version__
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.protocol import ConnectionContext
from cloudconsole.server.logging import rate_limit_filter
from cloudconsole.server.metrics.layout import ACCEPTING, CERTIFICATE_EXPIRY, UNDRAINED
from cloudconsole.server.metrics.loop_lag import LoopLagMonitor
from cloudconsole.server.metrics.server import PATH as METRICS_PATH
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.server.runtime.listener_shutdown import has_pending, stop_handshakes
from cloudconsole.server.runtime.systemd import Notifier
from cloudconsole.server.runtime.tls import BoundedLoop, Certificate, reload_certificate, reload_on_signal
from cloudconsole.server.test_mode.runtime import ServerRuntime

log = logging.getLogger(__name__)

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class ListeningSockets(NamedTuple):
    """Listening sockets for clients and for metrics."""

    calls: socket.socket
    metrics: socket.socket | None = None


class StopReason(NamedTuple):
    signal: int | None
    """The stop signal, if any."""
    drained: bool
    """Whether all running requests finished."""


def log_start(settings: Settings, sockets: ListeningSockets) -> None:
    address = f"{settings.own_scheme}://{_address(sockets.calls)}"
    metrics = None if sockets.metrics is None else f"http://{_address(sockets.metrics)}{METRICS_PATH}"
    data = settings.store.location
    workers = f"{settings.workers} worker{'s' if settings.workers > 1 else ''}"
    log.info(
        "Cloud Console %s serves on %s%s, %s, data in %s",
        __version__,
        address,
        f", metrics on {metrics}" if metrics else "",
        workers,
        data,
        extra={
            "fields": {
                "event": "start",
                "version": __version__,
                "served_on": address,
                "metrics": metrics,
                "workers": settings.workers,
                "data": data,
            }
        },
    )


def log_stop(settings: Settings, ending: StopReason) -> None:
    name = None if ending.signal is None else signal.Signals(ending.signal).name
    rest = "all requests finished" if ending.drained else f"requests were aborted after {settings.stop_grace} s"
    log.log(
        logging.INFO if ending.drained else logging.WARNING,
        "stopped%s: %s",
        f" by {name}" if name else "",
        rest,
        extra={"fields": {"event": "stop", "signal": name, "drained": ending.drained}},
    )


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


BACKLOG: Final = 2048
MAX_UNSENT: Final = 128 * 1024
"""Unsent bytes that the kernel buffers per connection."""
OTHER_FILES: Final = 100
"""Open files that a worker needs besides its connections."""
HANDSHAKE_SECONDS: Final = 0.2
"""Time for running TCP and TLS handshakes to complete before the listening socket closes."""
ACCEPT_SECONDS: Final = 1
"""Time limit for accepting pending connections afterwards, which may fail without free file descriptors."""


class ListenError(Exception):
    """The console cannot listen on an address."""


def bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            # Connections inherit it; without it the kernel buffers megabytes for a client that does not read.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        raise ListenError(
            f"cannot listen on {host} port {port}: {problem.strerror}; choose another port or host"
        ) from problem
    return listener


def bind_metrics(settings: Settings) -> socket.socket | None:
    """Return the listening socket for metrics, if an address is configured."""
    if settings.metrics is None:
        return None
    try:
        return bind(*settings.metrics)
    except ListenError as problem:
        raise ListenError(f"metrics: {problem}") from problem


class DrainingServer(uvicorn.Server):
    """On a stop signal, finishes running requests, rejects new ones with 503, then stops."""

    def __init__(
        self,
        config: uvicorn.Config,
        console: Console,
        grace: float,
        note_drained: Callable[[], bool],
        is_last_user: Callable[[], bool],
    ) -> None:
        """`note_drained` records that this worker is drained, and returns whether all workers are.

        `is_last_user` returns whether all workers stop, so that the listening socket closes with them.
        """
        super().__init__(config)
        self._console = console
        self._note_drained = note_drained
        self._is_last_user = is_last_user
        self._is_orphan = False
        self._grace = grace
        self._stop_by: float | None = None
        self.on_drain: Callable[[], None] = lambda: None
        self.ending = StopReason(signal=None, drained=True)

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # The handlers are installed now; a pending signal is delivered at once.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._stop_by is None:
            self.ending = self.ending._replace(signal=sig)
        self.drain()

    def drain_without_parent(self) -> None:
        log.error("the parent process is gone: stopping")
        self._is_orphan = True
        self.drain()

    def drain(self) -> None:
        if self._stop_by is None:
            self._console.draining = True
            self._stop_by = time.monotonic() + self._grace
            self.on_drain()

    @override
    async def on_tick(self, counter: int) -> bool:
        if self._stop_by is not None:
            self._console.hurry()
            is_drained = self._console.in_flight == 0
            # They share the listening socket: each keeps rejecting new requests until all are drained.
            may_end = is_drained and (self._note_drained() or not self._ends_listener())
            if may_end or time.monotonic() >= self._stop_by:
                self.should_exit = True
                self.ending = self.ending._replace(drained=is_drained)
        return await super().on_tick(counter)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept and serve every connection that the kernel has completed, then close.

        If only this worker stops, the others continue to accept, and the socket stays as it is.
        """
        listeners = sockets or [] if self._ends_listener() else []
        for listener in listeners:
            stop_handshakes(listener)
        await asyncio.sleep(HANDSHAKE_SECONDS)
        give_up_at = time.monotonic() + ACCEPT_SECONDS
        # The event loop accepts them, without any notification.
        while any(has_pending(listener) for listener in listeners) and time.monotonic() < give_up_at:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await super().shutdown(sockets)

    def _ends_listener(self) -> bool:
        return self._is_orphan or self._is_last_user()


def run_worker(
    settings: Settings,
    listener: socket.socket,
    certificate: Certificate | None,
    shared_metrics: SharedMetrics,
    worker: int,
    runtime: ServerRuntime,
    parent_pipe: int | None = None,
    notifier: Notifier | None = None,
) -> StopReason:
    """Run a worker until a stop signal, or until its parent is gone.

    `notifier` is given only if this is the main process.
    """
    is_alone = notifier is not None
    notifier = notifier or Notifier()
    metrics = shared_metrics.worker(worker)
    metrics.begin()
    max_connections = connection_limit(settings.max_connections)
    runtime.begin(settings.data)
    console = Console(settings, metrics=metrics, runtime=runtime)
    context = ConnectionContext(settings.request_timeout, max_connections, console.sequence, metrics)
    config = uvicorn.Config(
        console,
        # uvicorn only calls it, but declares a class.
        http=cast("Any", partial(runtime.protocol, context=context)),
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

    def note_drained() -> bool:
        metrics.set(UNDRAINED, 0)
        return shared_metrics.is_drained()

    def is_last_user() -> bool:
        return is_alone or shared_metrics.is_stopping(worker)

    server = DrainingServer(config, console, settings.stop_grace, note_drained, is_last_user)
    server.on_drain = notifier.stopping

    def beat() -> None:
        console.take_readings()
        rate_limit_filter.log_suppressed()
        if server.started:
            metrics.set(ACCEPTING, 1)
            notifier.ready()
        notifier.ping()

    def note_expiry() -> None:
        if certificate is not None:
            metrics.set(CERTIFICATE_EXPIRY, 0 if certificate.expiry is None else int(certificate.expiry.timestamp()))

    def reload() -> None:
        notifier.reloading()
        reload_certificate(certificate)
        note_expiry()
        notifier.ready()

    async def main() -> None:
        if parent_pipe is not None:
            call_when_closed(parent_pipe, server.drain_without_parent)
        note_expiry()
        reload_on_signal(reload)
        LoopLagMonitor(metrics, beat).start()
        await server.serve(sockets=[listener])
        await console.leave()

    try:
        with asyncio.Runner(loop_factory=lambda: BoundedLoop(settings.request_timeout)) as runner:
            runner.run(main())
    finally:
        console.close()
        rate_limit_filter.log_suppressed(until_now=True)
    return server.ending


def connection_limit(connections: int) -> int:
    """Raise the limit of open files as needed; return how many of the connections it allows."""
    needed = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        soft = needed if hard == unlimited else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == unlimited or soft >= needed:
        return connections
    log.warning("max_connections is %d, but the limit of %d open files allows fewer; raise it", connections, soft)
    return max(1, soft - OTHER_FILES)


def https_headers(settings: Settings) -> list[tuple[str, str]]:
    """Return the HSTS header if enabled; never on loopback, where it would affect every service of the machine."""
    if settings.hsts and settings.always_https and not settings.only_this_machine:
        subdomains = "; includeSubDomains" if settings.hsts_include_subdomains else ""
        return [("Strict-Transport-Security", f"max-age={settings.hsts}{subdomains}")]
    return []


def call_when_closed(pipe: int, action: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def on_readable() -> None:
        if not os.read(pipe, 4096):
            loop.remove_reader(pipe)
            action()

    loop.add_reader(pipe, on_readable)

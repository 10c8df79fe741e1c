"""Worker process: sockets, what a server consists of, start and stop log lines."""

import asyncio
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable
from typing import Final, NamedTuple

import uvloop

from cloudconsole._version import __version__
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.connection import Connections
from cloudconsole.server.logging import rate_limit_filter
from cloudconsole.server.metrics.layout import ACCEPTING, CERTIFICATE_EXPIRY, IN_FLIGHT, UNDRAINED
from cloudconsole.server.metrics.loop_lag import LoopLagMonitor
from cloudconsole.server.metrics.server import PATH as METRICS_PATH
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.server.runtime.server import BACKLOG, Server, StopReason
from cloudconsole.server.runtime.systemd import Notifier
from cloudconsole.server.runtime.tls import Certificate, reload_certificate, reload_on_signal
from cloudconsole.server.test_mode.runtime import ServerRuntime

log = logging.getLogger(__name__)


class ListeningSockets(NamedTuple):
    """Listening sockets for clients and for metrics."""

    calls: socket.socket
    metrics: socket.socket | None = None


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


MAX_UNSENT: Final = 128 * 1024
"""Unsent bytes that the kernel buffers per connection."""
OTHER_FILES: Final = 100
"""Open files that a worker needs besides its connections."""


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
    runtime.begin(settings.data)
    console = Console(settings, metrics=metrics, runtime=runtime)
    connections = Connections(
        console.handle,
        settings.request_timeout,
        connection_limit(settings.max_connections),
        console.sequence,
        metrics,
        https_headers(settings),
    )

    def note_drained() -> bool:
        metrics.set(UNDRAINED, 0)
        return shared_metrics.is_drained()

    def is_last_user() -> bool:
        return is_alone or shared_metrics.is_stopping(worker)

    server = Server(console, connections, settings.stop_grace, note_drained, is_last_user, notifier.stopping)

    def beat() -> None:
        console.run_periodic_work()
        metrics.set(IN_FLIGHT, connections.in_flight)
        rate_limit_filter.log_suppressed()
        if server.has_started:
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
        tls = (None, None) if certificate is None else (certificate.context, settings.request_timeout)
        await server.serve(listener, *tls)
        await console.leave()

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
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


def https_headers(settings: Settings) -> bytes:
    """Return the HSTS header line if enabled; never on loopback, where it would affect every service of the machine."""
    if settings.hsts and settings.always_https and not settings.only_this_machine:
        subdomains = "; includeSubDomains" if settings.hsts_include_subdomains else ""
        return f"strict-transport-security: max-age={settings.hsts}{subdomains}\r\n".encode()
    return b""


def call_when_closed(pipe: int, action: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def on_readable() -> None:
        if not os.read(pipe, 4096):
            loop.remove_reader(pipe)
            action()

    loop.add_reader(pipe, on_readable)

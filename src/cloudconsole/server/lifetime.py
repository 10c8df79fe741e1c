"""When a console began to serve, and how it ended: one line of the log each."""

import logging
import signal
import socket
from typing import Final, NamedTuple

from cloudconsole._version import __version__
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics.server import PATH as METRICS_PATH

log = logging.getLogger(__name__)

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Sockets(NamedTuple):
    """What the console listens on: for callers, and for whoever reads its metrics."""

    calls: socket.socket
    metrics: socket.socket | None = None


class Ending(NamedTuple):
    signal: int | None
    """What it was told to stop by, if anything."""
    drained: bool
    """Whether all that was under way could finish."""


def tell_start(settings: Settings, sockets: Sockets) -> None:
    address = f"{settings.own_scheme}://{_place(sockets.calls)}"
    metrics = None if sockets.metrics is None else f"http://{_place(sockets.metrics)}{METRICS_PATH}"
    data = settings.store.place
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


def tell_end(settings: Settings, ending: Ending) -> None:
    name = None if ending.signal is None else signal.Signals(ending.signal).name
    rest = "all calls finished" if ending.drained else f"calls were cut off after {settings.stop_grace} s"
    log.log(
        logging.INFO if ending.drained else logging.WARNING,
        "stopped%s: %s",
        f" by {name}" if name else "",
        rest,
        extra={"fields": {"event": "stop", "signal": name, "drained": ending.drained}},
    )


def _place(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

"""The address for metrics: answered by the console, or free for it."""

import errno
import socket
from collections.abc import Iterator
from typing import Final

from cloudconsole.server.doctor.findings import Case, Finding, ok, problem
from cloudconsole.server.doctor.probe import NoAnswer, ask
from cloudconsole.server.doctor.taken_ports import taken_port
from cloudconsole.server.metrics.server import PATH
from cloudconsole.server.net import reachable

_OWN_METRICS: Final = b"cloudconsole_"


def check_metrics(case: Case) -> Iterator[Finding]:
    if case.settings.metrics is None:
        yield ok("none are served: metrics is not set")
        return
    host, port = case.settings.metrics
    address = f"{reachable(host)}:{port}"
    try:
        answer = ask(f"http://{address}", PATH)
    except NoAnswer as reason:
        yield taken_port(case, "metrics", host, port) if reason.was_reached else _unused(case, host, port)
        return
    if answer.status == 200 and _OWN_METRICS in answer.body:
        yield ok(f"they are served at http://{address}{PATH}")
    else:
        yield taken_port(case, "metrics", host, port)


def _unused(case: Case, host: str, port: int) -> Finding:
    """Tell whether the console could listen on an address where nothing answers."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return taken_port(case, "metrics", host, port)
            if error.errno == errno.EADDRNOTAVAIL:
                return problem(f"this machine has no address {host}", "set metrics to an address of this machine")
    return ok(f"{reachable(host)}:{port} is free for them")

"""Allocate free ports, so that several labs can run on one machine."""

import random
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from lab.errors import LabError
from lab.plan import HOST

# Below the kernel's ephemeral range, so that a port is still free when a slow service binds it; RabbitMQ's distribution
# port must be below 32768 anyway.
RANGE: Sequence[int] = range(12000, 32000)


def allocate(names: Iterable[str]) -> dict[str, int]:
    """Allocate a free port for each name; all are bound until the last is found, so they differ."""
    ports: dict[str, int] = {}
    with ExitStack() as bound:
        for name in names:
            ports[name] = _free_port(bound)
    return ports


def _free_port(bound: ExitStack) -> int:
    for port in random.sample(RANGE, min(200, len(RANGE))):
        listener = bound.enter_context(socket.socket())
        try:
            listener.bind((HOST, port))
        except OSError:
            continue
        return port
    raise LabError("no free port")

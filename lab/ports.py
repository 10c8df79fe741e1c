"""Free ports, chosen at start, so that labs run beside each other and beside whatever else the machine does."""

import random
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from lab.errors import LabFailed
from lab.plan import HOST

# Below the range that the kernel takes outgoing connections' ports from: a port chosen now is still free when a slow
# service comes to listen on it, and RabbitMQ's own port has to be below 32768 anyway.
RANGE: Sequence[int] = range(12000, 32000)


def choose(names: Iterable[str]) -> dict[str, int]:
    """A free port for each name; held until all are chosen, so that no two get the same."""
    ports: dict[str, int] = {}
    with ExitStack() as held:
        for name in names:
            ports[name] = _free(held)
    return ports


def _free(held: ExitStack) -> int:
    for port in random.sample(RANGE, min(200, len(RANGE))):
        listener = held.enter_context(socket.socket())
        try:
            listener.bind((HOST, port))
        except OSError:
            continue
        return port
    raise LabFailed("no free port was found")

"""`python -m bench.openstack.upstream_timings serve …`: the console with debug logs of OpenStack request times.

`slowest_upstream_requests` reads the times back from the log.
"""

import logging
import sys
from typing import Final

import msgspec
from msgspec import Struct

from cloudconsole.cli.entry import main

LOGGER: Final = "cloudconsole.backends.openstack.client"


class Line(Struct, frozen=True):
    """The fields of a log line that are used here."""

    logger: str
    request_id: str
    ms: float | None = None


def slowest_upstream_requests(log: bytes) -> dict[str, float]:
    """Return the milliseconds of the slowest OpenStack request, by id of the console request."""
    slowest: dict[str, float] = {}
    # Lines that are not JSON are messages to the operator.
    for text in (text for text in log.splitlines() if text.startswith(b"{")):
        line = msgspec.json.decode(text, type=Line)
        if line.logger == LOGGER and line.ms is not None:
            slowest[line.request_id] = max(line.ms, slowest.get(line.request_id, 0.0))
    return slowest


if __name__ == "__main__":
    logging.getLogger(LOGGER).setLevel(logging.DEBUG)
    sys.exit(main())

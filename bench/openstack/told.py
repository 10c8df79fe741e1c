"""`python -m bench.openstack.told serve …`: the console as it is, but it tells how long each call to the cloud took.

What it tells is read back from its log.
"""

import logging
import sys
from typing import Final

import msgspec
from msgspec import Struct

from cloudconsole.cli.entry import main

TELLING: Final = "cloudconsole.backends.openstack.client"


class Line(Struct, frozen=True):
    """Of a line in the log, what is of use here."""

    logger: str
    request_id: str
    ms: float | None = None


def slowest_calls(log: bytes) -> dict[str, float]:
    """By the id of each request, the milliseconds of the slowest call to the cloud that was made for it."""
    slowest: dict[str, float] = {}
    # What is no JSON is said to people.
    for text in (text for text in log.splitlines() if text.startswith(b"{")):
        line = msgspec.json.decode(text, type=Line)
        if line.logger == TELLING and line.ms is not None:
            slowest[line.request_id] = max(line.ms, slowest.get(line.request_id, 0.0))
    return slowest


if __name__ == "__main__":
    logging.getLogger(TELLING).setLevel(logging.DEBUG)
    sys.exit(main())

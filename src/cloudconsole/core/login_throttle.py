"""When failed logins make further ones wait: by user and address, by address, and by IPv6 networks around it."""

import math
from typing import Final

WINDOW_SECONDS: Final = 300
USER_FAILURES: Final = 10
ADDRESS_FAILURES: Final = 100
NETWORK_FAILURES: Final = {56: 200, 48: 500}
"""By prefix length of IPv6: what providers assign to a home and to a site, each free to use any /64 in it."""
LONGEST_WAIT_SECONDS: Final = 60
SKEW_SECONDS: Final = 60
"""A failure this much later than now is another worker's, which was quicker; one later still is of a clock set back."""

_IPV6_ENDING: Final = "::/64"
_PREFIX_CHARACTERS: Final = {56: len("2001:0db8:0000:00"), 48: len("2001:0db8:0000:")}
_AFTER_DIGITS: Final = "g"


def wait_seconds(decisive_failure: float, now: float) -> int:
    """What to tell a caller whose limit is reached; the decisive failure is the one whose ageing frees a place."""
    remaining = math.ceil(decisive_failure + WINDOW_SECONDS - now)
    return max(1, min(remaining, LONGEST_WAIT_SECONDS))


def span(network: str, bits: int) -> tuple[str, str]:
    """Return the least and the greatest text that a /64 network in the wider IPv6 network can have.

    Networks are written with every digit of them, by `server.addresses.throttle_address`. An IPv4 address stands for
    itself alone.
    """
    if not network.endswith(_IPV6_ENDING):
        return network, network
    prefix = network[: _PREFIX_CHARACTERS[bits]]
    return prefix, prefix + _AFTER_DIGITS


def widest(network: str) -> str:
    """Return one text for all networks whose failures are counted together."""
    return span(network, min(NETWORK_FAILURES))[0]

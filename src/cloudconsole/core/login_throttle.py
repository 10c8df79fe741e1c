"""Limits of failed logins: by user and address, by address, and by IPv6 network."""

import math
from typing import Final

WINDOW_SECONDS: Final = 300
USER_FAILURES: Final = 10
ADDRESS_FAILURES: Final = 100
NETWORK_FAILURES: Final = {56: 200, 48: 500}
"""By IPv6 prefix length: providers assign a /56 to a home and a /48 to a site, which may use any /64 in it."""
MAX_WAIT_SECONDS: Final = 60
SKEW_SECONDS: Final = 60
"""A failure up to this much later than now is another worker's; a later one means that the clock was set back."""

_IPV6_ENDING: Final = "::/64"
_PREFIX_CHARACTERS: Final = {56: len("2001:0db8:0000:00"), 48: len("2001:0db8:0000:")}
_AFTER_DIGITS: Final = "g"


def wait_seconds(decisive_failure: float, now: float) -> int:
    """Return the Retry-After seconds at a limit; a login is allowed again once the decisive failure expires."""
    remaining = math.ceil(decisive_failure + WINDOW_SECONDS - now)
    return max(1, min(remaining, MAX_WAIT_SECONDS))


def span(network: str, bits: int) -> tuple[str, str]:
    """Return the lowest and highest text of a /64 network in the wider IPv6 network.

    Networks are written with all digits, by `throttle_address`. An IPv4 address is its own range.
    """
    if not network.endswith(_IPV6_ENDING):
        return network, network
    prefix = network[: _PREFIX_CHARACTERS[bits]]
    return prefix, prefix + _AFTER_DIGITS


def widest(network: str) -> str:
    """Return one text for all networks whose failures are counted together."""
    return span(network, min(NETWORK_FAILURES))[0]

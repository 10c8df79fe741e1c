"""When failed logins make further ones wait: by user and address, and by address alone."""

import math
from typing import Final

WINDOW_SECONDS: Final = 300
USER_FAILURES: Final = 10
ADDRESS_FAILURES: Final = 100
LONGEST_WAIT_SECONDS: Final = 60
SKEW_SECONDS: Final = 60
"""A failure this much later than now is another worker's, which was quicker; one later still is of a clock set back."""


def wait_seconds(decisive_failure: float, now: float) -> int:
    """What to tell a caller whose limit is reached; the decisive failure is the one whose ageing frees a place."""
    remaining = math.ceil(decisive_failure + WINDOW_SECONDS - now)
    return max(1, min(remaining, LONGEST_WAIT_SECONDS))

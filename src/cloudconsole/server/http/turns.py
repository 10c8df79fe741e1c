"""Who may wait for a password check: neither one account nor one address takes all the places."""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from cloudconsole.spec.errors import Unavailable


class Turns:
    """So many at once, and half as many for each holder, in this worker.

    Half of the places is little enough to leave room for others, and enough for callers that all come from one
    address, as they seem to behind a proxy that nobody declared.
    """

    def __init__(self, places: int, *, retry_after: int) -> None:
        self._free = places
        self._share = places // 2
        self._retry_after = retry_after
        self._held: Counter[Hashable] = Counter()

    @contextmanager
    def taken(self, *holders: Hashable) -> Iterator[None]:
        """Hold one place in the name of each; `Unavailable` where none is free or one of them has its share."""
        if not self._free or any(self._held[holder] >= self._share for holder in holders):
            raise Unavailable(self._retry_after)
        self._free -= 1
        self._held.update(holders)
        try:
            yield
        finally:
            self._free += 1
            self._held.subtract(holders)
            for holder in holders:
                if not self._held[holder]:
                    del self._held[holder]

"""Bytes that are the same again at every start: ids and tokens that a test can know beforehand, and so can anyone."""

import hashlib
import random


class SeededRandomness:
    """A stream that its seed alone decides, whichever Python it runs on."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._taken = self._first = 0

    def token_bytes(self, size: int, /) -> bytes:
        self._taken += 1
        return hashlib.shake_256(b"%d:%b" % (self._taken, self._seed)).digest(size)

    def keep_place(self) -> None:
        """From here on `restart` comes back to here."""
        self._first = self._taken

    def restart(self) -> None:
        """All from the kept place again; and Python's own numbers, which request ids are made of, from their start."""
        self._taken = self._first
        random.seed(self._seed)

"""Where the bytes come from that nobody may guess: the system's own, unless a console at a desk asks for known ones."""

import os
from typing import Final, Protocol


class Randomness(Protocol):
    def token_bytes(self, size: int, /) -> bytes:
        """So many bytes, fit for secrets and ids."""


class SystemRandomness:
    def token_bytes(self, size: int, /) -> bytes:
        return os.urandom(size)


SYSTEM: Final = SystemRandomness()

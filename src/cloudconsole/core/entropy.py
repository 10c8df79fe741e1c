"""Where the bytes come from that nobody may guess: the system's own, unless a console at a desk asks for known ones."""

import os
from typing import Final, Protocol


class RandomSource(Protocol):
    def token_bytes(self, size: int, /) -> bytes:
        """So many bytes, fit for secrets and ids."""


class SystemRandomSource:
    def token_bytes(self, size: int, /) -> bytes:
        return os.urandom(size)


SYSTEM_RANDOM: Final = SystemRandomSource()

"""Source of random bytes: the operating system, or a seeded one in test mode."""

import os
from typing import Final, Protocol


class RandomSource(Protocol):
    def token_bytes(self, size: int, /) -> bytes:
        """Return `size` random bytes for secrets and IDs."""


class SystemRandomSource:
    def token_bytes(self, size: int, /) -> bytes:
        return os.urandom(size)


SYSTEM_RANDOM: Final = SystemRandomSource()

"""Password hashing: argon2id with OWASP's parameters (19 MiB, two passes, one lane), and imported hashes."""

import binascii
import re
from base64 import b64decode, b64encode
from functools import cache
from typing import Final

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError

HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@cache
def decoy_hash() -> str:
    """Return a hash to check for unknown usernames, so that their logins take as long as any other."""
    return HASHER.hash("no account has this password")


def hash_password(password: str) -> str:
    return HASHER.hash(password)


def password_matches(password_hash: str, password: str) -> bool:
    try:
        return HASHER.verify(password_hash, password)
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False


def needs_rehash(password_hash: str) -> bool:
    """Return whether a usable hash has other parameters, which would reveal it by its timing."""
    return HASHER.check_needs_rehash(password_hash)


MIN_COST: Final = 36 * 1024
"""Memory in KiB times passes: the lowest that OWASP recommends, such as 19 MiB and 2 passes or 12 MiB and 3."""

_NUMBER: Final = "[1-9][0-9]{0,8}"
_ENCODED: Final = re.compile(rf"\$argon2id\$v=19\$m={_NUMBER},t={_NUMBER},p={_NUMBER}(\$[A-Za-z0-9+/]{{11,128}}){{2}}")


def is_usable_hash(password_hash: str) -> bool:
    """Return whether an imported hash is well-formed argon2id with an acceptable cost."""
    if not _ENCODED.fullmatch(password_hash):
        return False
    if not all(_is_canonical(part) for part in password_hash.split("$")[-2:]):
        return False
    parameters = extract_parameters(password_hash)
    return (
        1 <= parameters.parallelism <= 8
        and 1 <= parameters.time_cost <= 4
        and parameters.memory_cost <= 64 * 1024
        and parameters.memory_cost * parameters.time_cost >= MIN_COST
    )


def _is_canonical(encoded: str) -> bool:
    """Return whether the base64 is canonical: the library rejects other encodings."""
    try:
        decoded = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except binascii.Error:
        return False
    return b64encode(decoded).rstrip(b"=") == encoded.encode()

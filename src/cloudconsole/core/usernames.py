"""Usernames as the database behind a Keystone compares them.

Keystone asks its database for a name, and MariaDB finds the same user for many spellings: `alice`, `ALİCE`, `alice `,
or `alice` with invisible characters. Which ones depends on the collation, which the console does not know. It rejects
names with invisible characters, and counts failed logins by a form that is the same for all names that one of these
collations equates: utf8mb4_general_ci, utf8mb4_unicode_ci, utf8mb4_unicode_520_ci and utf8mb4_uca1400_ai_ci.
"""

import re
from functools import lru_cache
from typing import Final
from unicodedata import category, combining, normalize, numeric

from cloudconsole.core.mariadb_collation_folds import FOLDS

INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Characters that show nothing and are not in the categories Cc and Cf: Default_Ignorable_Code_Point and a few more."""

_REJECTED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Cs"})

# No one form covers these. general_ci equates all characters beyond U+FFFF, the others equate the mathematical a with a
# and the mathematical b with b: one form for all of them would be one for a and b. The combining iota is an iota to
# general_ci and nothing to the others. The blocks: Latin Extended-F and -G, small kana, combining Glagolitic letters,
# enclosed letters. Characters beyond U+FFFF that are digits or decompose into others are found by these properties.
_AMBIGUOUS: Final = re.compile(
    "[\u0345\U00010780-\U000107bf\U0001b130-\U0001b16f\U0001df00-\U0001dfff\U0001e000-\U0001e02f\U0001f100-\U0001f1e5]"
)
_REPEATED_S: Final = re.compile("s+")


def is_plain(username: str) -> bool:
    """Whether every character of the name is visible and has one folded form."""
    return (username.isascii() and username.isprintable()) or all(map(_is_plain, username))


def fold_username(username: str) -> str:
    """Return the form that all spellings of a plain name have in common."""
    folded = "".join(map(_fold, username))
    # ß is s in general_ci and ss in the others. Spaces at the end never count in MariaDB, nor repeated ones in LDAP.
    return " ".join(_REPEATED_S.sub("s", folded).split())


def base_letters(character: str) -> str:
    """Return what Unicode alone makes of a character: its letters without case, style and accents.

    Characters beyond U+FFFF are dropped: general_ci equates all of them.
    """
    parts = normalize("NFKD", character)
    return "".join(part for part in parts if not combining(part) and not _is_supplementary(part)).casefold()


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    if character in FOLDS:
        return FOLDS[character]
    return "".join(FOLDS.get(letter, letter) for letter in base_letters(character))


def _is_plain(character: str) -> bool:
    if category(character) in _REJECTED_CATEGORIES or INVISIBLE.match(character) or _AMBIGUOUS.match(character):
        return False
    if not _is_supplementary(character):
        return True
    return numeric(character, None) is None and all(map(_is_supplementary, normalize("NFKD", character)))


def _is_supplementary(character: str) -> bool:
    return character > "\uffff"

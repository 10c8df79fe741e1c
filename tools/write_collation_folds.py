"""Write the table of characters that MariaDB's collations equate and Unicode's own rules do not.

Needs a lab that runs (`make openstack`), whose MariaDB is asked: `python -m tools.write_collation_folds [FOLDER]`.
"""

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Final

from lab.plan import Plan

from cloudconsole.core import usernames
from lab import databases
from lab import plan as plans

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "src" / "cloudconsole" / "core" / "collation_folds.py"
COLLATIONS: Final = ("utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci", "utf8mb4_uca1400_ai_ci")

LINE_LENGTH: Final = 120
LAST_FOLDED: Final = "\uffff"
"""Characters beyond it fold to nothing."""

DROPPED: Final = (
    "\u00b7"  # l and a middle dot are l in uca1400, by a contraction
    "\u0621"  # ٵ is hamza and alef in one collation, alef and hamza in another
    "\ufffd"  # to general_ci, every character beyond U+FFFF
    # Vowels that are written before their consonant: uca1400 compares them as if they came after it.
    "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4\u19b5\u19b6\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc"
)
"""Characters on which the collations contradict each other; without them, they do not."""

HEADER: Final = '''"""Characters that MariaDB's collations equate with others, where Unicode's own rules do not.

Written by `python -m tools.write_collation_folds`. A line has what to fold to, in hexadecimal ("-" is nothing), and the
characters.
"""

from typing import Final

_TABLE: Final = """
{table}
"""


def _text(codes: str) -> str:
    return "" if codes == "-" else "".join(chr(int(code, 16)) for code in codes.split("+"))


FOLDS: Final[dict[str, str]] = {{
    _text(code): _text(target) for target, *codes in map(str.split, _TABLE.strip().splitlines()) for code in codes
}}
'''

Weights = dict[str, tuple[str, ...]]
"""Of each character, what one collation compares: one weight, several, or none."""


def character_weights(plan: Plan) -> dict[str, Weights]:
    """Return, for each collation, the weights of all characters that a plain username can have."""
    columns = ", ".join(f"HEX(WEIGHT_STRING(c COLLATE {collation}))" for collation in COLLATIONS)
    lines = query(
        plan,
        f"SELECT seq, {columns} FROM (SELECT seq, CONVERT(CHAR(seq USING utf32) USING utf8mb4) AS c"
        " FROM seq_1_to_1114111 WHERE seq NOT BETWEEN 0xD800 AND 0xDFFF) AS characters",
    )
    weights: dict[str, Weights] = {collation: {} for collation in COLLATIONS}
    for code, *columns_of_code in lines:
        if usernames.is_plain(chr(int(code))):
            for collation, weight in zip(COLLATIONS, columns_of_code, strict=True):
                weights[collation][chr(int(code))] = split_weight(weight)
    return weights


def query(plan: Plan, select: str) -> Iterable[list[str]]:
    """Return the rows of a query that needs no table; sequences are tables of MariaDB's own."""
    statements = f"SET NAMES utf8mb4; CREATE DATABASE IF NOT EXISTS collations; USE collations; {select};"
    lines = databases.execute(plan, statements.encode()).decode().splitlines()
    return (line.split("\t") for line in lines[1:])


def split_weight(weight: str) -> tuple[str, ...]:
    """Split at every weight: four digits, or eight where it is of a character that has no place in UCA's table."""
    units: list[str] = []
    while weight:
        size = 8 if weight.startswith("FB") and len(weight) >= 8 else 4
        units.append(weight[:size])
        weight = weight[size:]
    return tuple(units)


def folds(weights: dict[str, Weights]) -> dict[str, str]:
    """Return the table with which `fold_username` is the same for all names that a collation equates."""
    classes = _Classes()
    expansions: dict[str, str] = {}
    for character in DROPPED:
        classes.join("", character)
    for of_collation in weights.values():
        examples = one_of_each(of_collation)
        for character, units in of_collation.items():
            if len(units) > 1:
                expansions[character] = "".join(examples[unit] for unit in units)
            elif character <= LAST_FOLDED:
                classes.join(examples[units[0]] if units else "", character)

    def common_form(character: str) -> str:
        root = classes.root(character)
        return "".join(map(common_form, expansions[root])) if root in expansions else root

    table: dict[str, str] = {}

    def fold(text: str) -> str:
        parts = (table[each] if each in table else usernames.base_letters(each) for each in text)
        return "".join(table.get(letter, letter) for part in parts for letter in part)

    # Letters first: all other characters are folded by way of them.
    for character in sorted(weights[COLLATIONS[0]], key=_rank):
        if character <= LAST_FOLDED and fold(character) != (common := fold(common_form(character))):
            table[character] = common
    return table


def one_of_each(weights: Weights) -> dict[str, str]:
    """Return a character for each weight."""
    return {units[0]: character for character, units in reversed(weights.items()) if len(units) == 1}


class _Classes:
    """Characters that are equated, directly or by way of others (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def root(self, character: str) -> str:
        while (parent := self._parents.get(character, character)) != character:
            character = parent
        return character

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.root(one), self.root(other)), key=_rank)
        if first != second:
            self._parents[second] = first


def _rank(character: str) -> tuple[bool, bool, str]:
    return bool(character), usernames.base_letters(character) != character, character


def table_lines(table: dict[str, str]) -> list[str]:
    """Return the table's lines: one for each text that characters fold to, or more where it is long."""
    by_target = sorted(table, key=lambda character: (table[character], character))
    lines = []
    for target, characters in groupby(by_target, key=table.__getitem__):
        codes = "+".join(f"{ord(letter):04X}" for letter in target) or "-"
        members = " ".join(f"{ord(character):04X}" for character in characters)
        lines += [f"{codes} {part}" for part in wrap(members, LINE_LENGTH - len(codes) - 1)]
    return lines


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else ROOT / ".lab"
    plan = plans.read(folder.resolve())
    if plan is None:
        sys.stderr.write(f"no lab is ready in {folder}: `make openstack` starts one\n")
        return 1
    FILE.write_text(HEADER.format(table="\n".join(table_lines(folds(character_weights(plan))))), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Usernames that are equal in any MariaDB collation that Keystone may use fold to the same name.

A collation compares the weights of characters and contracted pairs, so names are equal if these are.
"""

from collections.abc import Iterator

import pytest
from lab.cloud import Lab
from tools.generate_collation_folds import COLLATIONS, Weights, character_weights, one_of_each, query, split_weight

from cloudconsole.core.usernames import fold_username, is_plain

pytestmark = pytest.mark.xdist_group("username_collations")

BLOCKS_WITH_CONTRACTIONS = "(seq < 0x2000 OR seq BETWEEN 0xA800 AND 0xABFF)"


@pytest.fixture(scope="module")
def weights(lab: Lab) -> dict[str, Weights]:
    return character_weights(lab.plan)


@pytest.mark.parametrize("collation", COLLATIONS)
def test_characters_equal_in_a_collation_fold_alike(weights: dict[str, Weights], collation: str) -> None:
    of_collation = weights[collation]
    examples = one_of_each(of_collation)
    assert len(of_collation) > 250_000
    differing = {
        f"U+{ord(character):04X}": (character, same)
        for character, units in of_collation.items()
        if (same := "".join(examples[unit] for unit in units)) != character
        and fold_username(character) != fold_username(same)
    }
    assert differing == {}


@pytest.mark.parametrize("collation", COLLATIONS[1:])
def test_pairs_contracted_by_a_collation_fold_alike(lab: Lab, weights: dict[str, Weights], collation: str) -> None:
    examples = one_of_each(weights[collation])
    differing = {
        pair: same
        for pair, units in _contractions(lab, collation)
        if is_plain(pair)
        and fold_username(f"<{pair}>") != fold_username(same := f"<{''.join(examples[unit] for unit in units)}>")
    }
    assert differing == {}


def _contractions(lab: Lab, collation: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield pairs of characters of one block whose combined weight differs from their two weights."""
    character = "CONVERT(CHAR(seq USING utf32) USING utf8mb4)"
    characters = (
        f"SELECT seq, {character} AS c, WEIGHT_STRING({character} COLLATE {collation}) AS w, seq DIV 256 AS block"
        f" FROM seq_1_to_65535 WHERE {BLOCKS_WITH_CONTRACTIONS}"
    )
    together = f"WEIGHT_STRING(CONCAT(one.c, other.c) COLLATE {collation})"
    rows = query(
        lab.plan,
        f"CREATE TEMPORARY TABLE one ENGINE=MEMORY {characters};"
        f" CREATE TEMPORARY TABLE other (KEY (block)) ENGINE=MEMORY {characters};"
        f" SELECT one.seq, other.seq, HEX({together}) FROM one JOIN other USING (block)"
        f" WHERE {together} <> CONCAT(one.w, other.w)",
    )
    for one, other, weight in rows:
        yield chr(int(one)) + chr(int(other)), split_weight(weight)

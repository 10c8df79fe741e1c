"""Which usernames are plain, and which spellings fold alike; tests/openstack compares this with MariaDB."""

import sys
from unicodedata import category

import pytest

from cloudconsole.core.usernames import fold_username, is_plain


def test_name_with_invisible_or_unassigned_character_is_not_plain() -> None:
    categories = [category(chr(code)) for code in range(sys.maxunicode + 1)]
    # All of them would take seconds, most being unassigned: the first of each range, and every one up to U+FFFF.
    chosen = (code for code, of in enumerate(categories) if code <= 0xFFFF or of != categories[code - 1])
    hidden = [chr(code) for code in chosen if categories[code] in ("Cc", "Cf", "Cn")]
    assert len(hidden) > 1000
    assert [character for character in hidden if is_plain(f"al{character}ice")] == []


def test_name_with_default_ignorable_character_is_not_plain() -> None:
    # Default_Ignorable_Code_Point of Unicode, except characters of the categories above.
    ignorable = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    ignorable += "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
    assert [character for character in ignorable if is_plain(f"al{character}ice")] == []


@pytest.mark.parametrize(
    "name", ["alice", "a.lice-1@example", "Zoë Müller", "王小明", "𠮷田", "Ωμέγα", "राम", "สมชาย", "bob😀"]
)
def test_ordinary_names_are_plain(name: str) -> None:
    assert is_plain(name)


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("alice", "ALİCE"),
        ("alice", "àlıce"),
        ("alice", "ⓐｌice  "),
        ("alice", "ali\u0301ce"),
        ("weiss", "Weiß"),
        ("weiß", "weis"),
        ("lars", "łarş"),
        ("soren", "søren"),
        ("user1", "user١"),
        ("かな", "カナ"),
        ("ann lee", "ann\u00a0lee"),
    ],
)
def test_spellings_that_a_database_may_equate_fold_alike(name: str, spelling: str) -> None:
    assert is_plain(spelling)
    assert fold_username(spelling) == fold_username(name)


def test_different_names_fold_differently() -> None:
    names = ["alice", "alicia", "bob", "bob1", "bob2", "王小明", "王小红", "иван", "анна", "राम", "रीमा"]
    assert len({fold_username(name) for name in names}) == len(names)

"""Which usernames are plain, and which spellings fold alike; tests/openstack compares this with MariaDB."""

import sys
from unicodedata import category

import pytest

from cloudconsole.core.usernames import fold_username, is_plain


def test_name_with_invisible_or_unassigned_character_is_not_plain() -> None:
    hidden = [chr(code) for code in range(sys.maxunicode + 1) if category(chr(code)) in ("Cc", "Cf", "Cn")]
    assert len(hidden) > 800_000
    assert [character for character in hidden if is_plain(f"al{character}ice")] == []


@pytest.mark.parametrize(
    ("first", "last"),
    # Default_Ignorable_Code_Point of Unicode, except characters of the categories above.
    [
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180D),
        (0x180F, 0x180F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    ],
)
def test_name_with_default_ignorable_character_is_not_plain(first: int, last: int) -> None:
    assert not any(is_plain(f"al{chr(code)}ice") for code in range(first, last + 1))


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
    names = [
        "alice",
        "alicia",
        "bob",
        "bob1",
        "bob2",
        "王小明",
        "王小红",
        "李小明",
        "иван",
        "анна",
        "राम",
        "रीमा",
        "김철수",
        "김영희",
    ]
    assert len({fold_username(name) for name in names}) == len(names)

"""Usernames (tests/openstack compares their folding with MariaDB), choices of flavors, cache scope of credentials."""

import sys
from unicodedata import category

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cloudconsole.core.ports import CloudCredentials
from cloudconsole.core.resources import flavors_record
from cloudconsole.core.usernames import fold_username, is_plain
from cloudconsole.spec.records import Flavor


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


RAM = st.sampled_from([512, 1024, 2048, 4096, 10240, 16384])
FLAVORS = st.builds(Flavor, st.just("1"), st.just("a"), st.integers(1, 16), RAM, st.integers(0, 100))


@given(st.lists(FLAVORS, max_size=30))
@example([])
@example([Flavor("1", "a", 16, 10240, 0), Flavor("2", "b", 2, 2048, 0), Flavor("3", "c", 2, 512, 0)])
def test_choices_are_exactly_the_existing_values_and_pairs_ascending(flavors: list[Flavor]) -> None:
    record = flavors_record(flavors)
    pairs = [(int(vcpus), ram) for vcpus, rams in record.limits.items() for ram in rams]
    assert record.flavors == flavors
    assert record.configs.vcpus == sorted({flavor.vcpus for flavor in flavors})
    assert record.configs.ram == sorted({flavor.ram for flavor in flavors})
    assert pairs == sorted({(flavor.vcpus, flavor.ram) for flavor in flavors})


CREDENTIALS = CloudCredentials(
    "https://one.example", "user", "project", {"north": {"compute": "https://nova.example/v2.1"}}, b"sealed"
)


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"endpoint": "https://two.example"}, True),
        ({"user_id": "another"}, True),
        ({"project_id": "another"}, True),
        ({"services": {}}, True),
        ({"services": {**CREDENTIALS.services, "south": {}}}, True),
        ({"encrypted_token": b"another"}, False),
    ],
    ids=["endpoint", "user", "project", "no region", "another region", "token"],
)
def test_scope_depends_on_endpoint_user_project_and_regions(changes: dict[str, object], changed: bool) -> None:
    assert (msgspec.structs.replace(CREDENTIALS, **changes).scope != CREDENTIALS.scope) == changed

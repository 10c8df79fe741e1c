"""Write generators: reproducible, valid in sequence, covering every kind of change."""

from itertools import islice
from typing import Any

import pytest
from consistency.generators import AccountGenerator, Change, QuotaGenerator, WriteGenerator, write_generators
from consistency.initial_cloud import Cloud

CLOUD = Cloud(2)


def drawn(generator: WriteGenerator, count: int = 200) -> list[Change]:
    """Draw changes, completing each."""
    changes = []
    for _ in range(count):
        change = generator.next()
        generator.completed(change)
        changes.append(change)
    return changes


def test_the_same_seed_draws_the_same_changes() -> None:
    first, same, other = ([drawn(each) for each in write_generators(CLOUD, seed)] for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_each_register_has_a_single_writer() -> None:
    written = [{change.register for change in drawn(each)} for each in write_generators(CLOUD, 1)]
    assert sum(map(len, written)) == len(set.union(*written))


def test_every_verb_is_used() -> None:
    verbs = {(change.register[0], change.verb) for each in write_generators(CLOUD, 1) for change in drawn(each)}
    assert verbs == {
        ("quota", "change"),
        *(("resource", verb) for verb in ("add", "change", "end", "remove")),
        ("price", "change"),
        *(("news", verb) for verb in ("add", "change", "disable", "enable", "remove")),
        *(("account", verb) for verb in ("disable", "enable", "password", "end-sessions")),
    }


def test_every_writer_has_an_operator_account() -> None:
    assert len(list(write_generators(CLOUD, 1))) == len(CLOUD.operators)


def test_every_account_has_a_writer() -> None:
    found = [each for each in write_generators(CLOUD, 1) if isinstance(each, AccountGenerator)]
    assert [name for each in found for name in each.accounts] == list(CLOUD.accounts)


@pytest.mark.parametrize("generator", list(write_generators(CLOUD, 1)), ids=lambda each: type(each).__name__)
def test_each_change_is_valid_after_the_previous_ones(generator: WriteGenerator) -> None:
    now: dict[tuple[str, ...], Any] = dict(CLOUD.values())
    for change in drawn(generator):
        current: Any = now.get(change.register)
        assert (current is None) == (change.verb == "add")
        if change.verb in ("disable", "enable"):
            assert current["disabled"] == (change.verb == "enable")
        if change.verb == "end":
            assert not current["ended"]
        now[change.register] = change.value


def test_an_incomplete_change_is_not_built_upon() -> None:
    generator = next(
        each for each in write_generators(CLOUD, 1) if not isinstance(each, AccountGenerator | QuotaGenerator)
    )
    assert {change.verb for change in islice(iter(generator.next, None), 50)} == {"add"}

"""Plans: the same from the same seed, possible one after the other, and of everything there is to change."""

from itertools import islice
from typing import Any

import pytest
from history.cloud import Cloud
from history.plan import AccountPlanner, Change, Planner, QuotaPlanner, planners

CLOUD = Cloud(2)


def drawn(planner: Planner, count: int = 200) -> list[Change]:
    """So many changes, each of which is made."""
    changes = []
    for _ in range(count):
        change = planner.next()
        planner.done(change)
        changes.append(change)
    return changes


def test_the_same_seed_draws_the_same_plans() -> None:
    first, same, other = ([drawn(each) for each in planners(CLOUD, seed)] for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_no_two_writers_write_one_register() -> None:
    written = [{change.register for change in drawn(each)} for each in planners(CLOUD, 1)]
    assert sum(map(len, written)) == len(set.union(*written))


def test_everything_is_changed_by_every_verb() -> None:
    verbs = {(change.register[0], change.verb) for each in planners(CLOUD, 1) for change in drawn(each)}
    assert verbs == {
        ("quota", "change"),
        *(("resource", verb) for verb in ("add", "change", "end", "remove")),
        ("price", "change"),
        *(("news", verb) for verb in ("add", "change", "disable", "enable", "remove")),
        *(("account", verb) for verb in ("disable", "enable", "password", "end-sessions")),
    }


def test_every_writer_has_an_account_for_the_pages() -> None:
    assert len(list(planners(CLOUD, 1))) == len(CLOUD.operators)


def test_every_account_of_the_cloud_has_its_writer() -> None:
    found = [each for each in planners(CLOUD, 1) if isinstance(each, AccountPlanner)]
    assert [name for each in found for name in each.accounts] == list(CLOUD.accounts)


@pytest.mark.parametrize("planner", list(planners(CLOUD, 1)), ids=lambda each: type(each).__name__)
def test_each_change_is_possible_after_those_before_it(planner: Planner) -> None:
    now: dict[tuple[str, ...], Any] = dict(CLOUD.values())
    for change in drawn(planner):
        current: Any = now.get(change.register)
        assert (current is None) == (change.verb == "add")
        if change.verb in ("disable", "enable"):
            assert current["disabled"] == (change.verb == "enable")
        if change.verb == "end":
            assert not current["ended"]
        now[change.register] = change.value


def test_a_change_that_was_not_made_is_not_built_upon() -> None:
    planner = next(each for each in planners(CLOUD, 1) if not isinstance(each, AccountPlanner | QuotaPlanner))
    assert {change.verb for change in islice(iter(planner.next, None), 50)} == {"add"}

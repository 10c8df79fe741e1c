"""Figures that never existed are found out, and those that may have been so are let pass."""

import pytest
from history.figures import LATER, MIXED, NEVER, STALE
from history.recording import Answer

from tests.history.story import LIMITED, QUOTA, VOLUME_PRICE, Story, limited, news, resource, volume

BEFORE, UNDER_WAY, AFTER = (5, 6), (10.5, 10.6), (20, 21)
"""A call's times, beside a change from 10 to 11."""


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.mark.parametrize(("time", "number"), [(BEFORE, 10), (UNDER_WAY, 10), (UNDER_WAY, 20), (AFTER, 20)])
def test_before_and_while_a_quota_changes_it_may_be_the_old_one_and_from_then_on_the_new(
    story: Story, time: tuple[float, float], number: int
) -> None:
    story.write(10, 11, QUOTA, limited(20))
    story.usage(*time, limited(number))
    assert story.problems == []


@pytest.mark.parametrize(
    ("time", "number", "problem"), [(BEFORE, 20, LATER), (AFTER, 10, STALE), (AFTER, 30, NEVER), (UNDER_WAY, 30, NEVER)]
)
def test_another_quota_than_it_can_be_is_found_out(
    story: Story, time: tuple[float, float], number: int, problem: str
) -> None:
    story.write(10, 11, QUOTA, limited(20))
    story.usage(*time, limited(number))
    assert problem in story.problem


def test_an_old_figure_is_told_with_the_moment_until_which_it_was_right(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20))
    story.usage(11.25, 12, LIMITED)
    assert story.problem == "GetUsageLimits: stale: so it was until 11.000, and the call began 0.250 s later"


def test_a_call_that_began_before_the_acknowledgement_may_still_say_the_old(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20))
    story.usage(10.99, 15, LIMITED)
    story.usage(9, 10.01, limited(20))
    assert story.problems == []


def test_while_a_change_is_under_way_two_readings_may_see_it_in_either_order(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20))
    story.usage(10.1, 10.2, limited(20))
    story.usage(10.3, 10.4, LIMITED)
    assert story.problems == []


@pytest.mark.parametrize("number", [10, 20])
def test_a_change_of_unknown_outcome_may_have_been_made_or_not_however_late(story: Story, number: int) -> None:
    story.write(10, 11, QUOTA, limited(20), "unknown")
    story.usage(500, 501, limited(number))
    assert story.problems == []


def test_before_its_beginning_a_change_of_unknown_outcome_was_not_made(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20), "unknown")
    story.usage(8, 9, limited(20))
    assert LATER in story.problem


@pytest.mark.parametrize(("number", "problem"), [(10, STALE), (20, STALE), (30, None)])
def test_a_later_acknowledgement_settles_a_change_of_unknown_outcome(
    story: Story, number: int, problem: str | None
) -> None:
    story.write(10, 11, QUOTA, limited(20), "unknown")
    story.write(12, 13, QUOTA, limited(30))
    story.usage(14, 15, limited(number))
    assert story.problems == [] if problem is None else problem in story.problem


def test_a_change_found_made_when_done_again_was_made_at_any_moment_since_its_beginning(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20), "unknown")
    story.write(12, 13, QUOTA, limited(20), changed=False)
    story.usage(10.1, 10.2, limited(20))
    story.usage(12.9, 14, LIMITED)
    assert story.problems == []
    story.usage(13.1, 14, LIMITED)
    assert STALE in story.problem


def test_a_refused_change_was_not_made(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20), "refused")
    story.usage(12, 13, LIMITED)
    assert story.problem.startswith("a change was refused")


def test_resources_are_used_from_their_creation_to_their_removal(story: Story) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, resource("b"), volume(7))
    story.write(20, 21, resource("a"), None)
    story.volumes(5, 6)
    story.volumes(11, 12, 5)
    story.volumes(14, 15, 5, 7)
    story.volumes(22, 23, 7)
    assert story.problems == []


@pytest.mark.parametrize(
    ("time", "sizes", "problem"),
    [
        ((11.5, 11.6), [], STALE),
        ((14, 15), [5], STALE),
        ((14, 15), [7], NEVER),
        ((14, 15), [5, 9], NEVER),
        ((22, 23), [5, 7], STALE),
        ((11.5, 11.6), [5, 7], LATER),
    ],
)
def test_a_resource_that_is_lost_or_comes_too_late_or_too_early_is_found_out(
    story: Story, time: tuple[float, float], sizes: list[int], problem: str
) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, resource("b"), volume(7))
    story.write(20, 21, resource("a"), volume(6))
    story.volumes(*time, *sizes)
    assert problem in story.problem


def test_two_writers_at_once_may_be_seen_in_any_order(story: Story) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(10, 11, resource("b"), volume(7))
    for sizes in ([], [5], [7], [5, 7]):
        story.volumes(10.4, 10.5, *sizes)
    assert story.problems == []


def test_a_long_call_may_see_any_state_there_was_meanwhile_but_only_those(story: Story) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, resource("a"), volume(6))
    story.write(14, 15, resource("b"), volume(7))
    for sizes in ([], [5], [6], [6, 7]):
        story.volumes(9, 16, *sizes)
    assert story.problems == []
    story.volumes(9, 16, 5, 7)
    assert NEVER in story.problem


def test_figures_of_two_moments_in_one_answer_are_found_out(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20))
    story.write(12, 13, resource("a"), volume(5))
    story.volumes(9, 14, limits=limited(20))
    story.volumes(9, 14, 5, limits=limited(20))
    assert story.problems == []
    story.volumes(9, 14, 5, limits=LIMITED)
    assert MIXED in story.problem


def test_a_quota_torn_in_two_is_found_out(story: Story) -> None:
    story.write(10, 11, QUOTA, limited(20))
    story.usage(10.2, 10.4, {**limited(20), "cores": 10})
    assert NEVER in story.problem


def test_a_cost_is_of_the_resources_and_the_prices_of_one_moment(story: Story) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, VOLUME_PRICE, 2000)
    story.costs(5, 6)
    story.costs(11, 12, volume=5000)
    story.costs(14, 15, volume=10_000)
    assert story.problems == []


@pytest.mark.parametrize(
    ("time", "cost", "problem"),
    [((14, 15), 5000, STALE), ((14, 15), 14_000, LATER), ((9, 18), 7000, MIXED), ((9, 18), 1, NEVER)],
)
def test_a_cost_of_no_moment_is_found_out(story: Story, time: tuple[float, float], cost: int, problem: str) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, VOLUME_PRICE, 2000)
    story.write(16, 17, resource("a"), volume(7))
    story.costs(*time, volume=cost)
    assert problem in story.problem


def test_instances_are_paid_by_each_processor_and_started_gigabyte(story: Story) -> None:
    story.write(10, 11, resource("a"), {"kind": "instance", "vcpus": 2, "ram": 1025, "size": 0, "ended": False})
    story.costs(12, 13, instance=5000)
    assert story.problems == []


def test_a_resource_that_has_ended_is_paid_for_until_the_end_of_the_hour_but_not_used(story: Story) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, resource("a"), volume(5, ended=True))
    story.volumes(14, 15)
    story.costs(14, 15, volume=5000)
    story.costs(3700, 3701)
    assert story.problems == []


@pytest.mark.parametrize(("time", "costs"), [((3700, 3701), {"volume": 5000}), ((3000, 3001), {})])
def test_an_ended_resource_paid_for_too_long_or_too_short_is_found_out(
    story: Story, time: tuple[float, float], costs: dict[str, int]
) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, resource("a"), volume(5, ended=True))
    story.costs(*time, **costs)
    assert len(story.problems) == 1


@pytest.mark.parametrize(("time", "costs"), [((3650, 3651), {"volume": 5000}), ((3650, 3651), {}), ((7250, 7251), {})])
def test_one_that_ended_about_the_end_of_an_hour_may_have_done_so_in_either(
    story: Story, time: tuple[float, float], costs: dict[str, int]
) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(3590, 3610, resource("a"), volume(5, ended=True))
    story.costs(*time, **costs)
    assert story.problems == []


@pytest.mark.parametrize("costs", [{"volume": 5000}, {}])
def test_one_of_which_is_not_known_whether_it_ended_may_be_paid_for_or_not(story: Story, costs: dict[str, int]) -> None:
    story.write(10, 11, resource("a"), volume(5))
    story.write(12, 13, resource("a"), volume(5, ended=True), "unknown")
    story.costs(4000, 4001, **costs)
    assert story.problems == []


def test_news_appear_with_the_acknowledgement_and_go_with_it(story: Story) -> None:
    story.write(10, 11, ("news", "1"), news("one"))
    story.write(12, 13, ("news", "1"), news("one", disabled=True))
    story.news(5, 6)
    story.news(11, 12, "one")
    story.news(14, 15)
    assert story.problems == []


@pytest.mark.parametrize(
    ("titles", "problem"), [([], STALE), (["two"], NEVER), (["one", "one"], MIXED), (["one", "two"], NEVER)]
)
def test_news_that_are_not_so_are_found_out(story: Story, titles: list[str], problem: str) -> None:
    story.write(10, 11, ("news", "1"), news("one"))
    story.news(12, 13, *titles)
    assert problem in story.problem


def test_news_come_newest_first(story: Story) -> None:
    story.write(10, 11, ("news", "1"), news("one"))
    story.write(10, 11, ("news", "2"), news("two", date=1_750_000_000 - 3600))
    shown = [("2025-06-15 15:06:40", "one"), ("2025-06-15 14:06:40", "two")]
    data = [{"date": date, "url": "https://news.example.com/", "title": title} for date, title in shown]
    story.call(12, 13, story.login(-2, -1), Answer(200, data=data), "GetNews")
    assert story.problems == []
    story.call(12, 13, story.login(-2, -1), Answer(200, data=data[::-1]), "GetNews")
    assert MIXED in story.problem


@pytest.mark.parametrize("action", ["GetUsageLimits", "GetNews", "GetConsumptionsEstimated"])
@pytest.mark.parametrize(
    "data", [None, [{}], {}, [{"res_type": "volume", "hour": "x", "day": "", "month": "", "year": ""}]]
)
def test_an_answer_that_is_none_is_found_out(story: Story, action: str, data: object) -> None:
    story.write(10, 11, ("news", "1"), news("one"))
    story.write(10, 11, resource("a"), volume(5))
    story.call(12, 13, story.login(-2, -1), Answer(200, data=data), action)
    assert len(story.problems) == 1


def test_amounts_that_do_not_belong_together_are_found_out(story: Story) -> None:
    data = [{"res_type": "volume", "hour": "1.00", "day": "24.00", "month": "720.00", "year": "8640.00"}]
    story.call(12, 13, story.login(-2, -1), Answer(200, data=data), "GetConsumptionsEstimated")
    assert "do not belong together" in story.problem

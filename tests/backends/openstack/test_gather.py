"""Several questions at once: their answers in order, or the gravest failure alone."""

import asyncio
from itertools import permutations

import pytest

from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.backends.openstack.fetch import gather
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout

BY_GRAVITY = (ZeroDivisionError(), TokenRejected("t"), UpstreamFailed(), UpstreamTimeout())


async def answer(value: int, pauses: int = 0) -> int:
    for _ in range(pauses):
        await asyncio.sleep(0)
    return value


async def fail(failure: Exception) -> int:
    raise failure


def test_answers_come_in_the_order_of_the_questions() -> None:
    assert asyncio.run(gather(answer(number, pauses=5 - number) for number in range(5))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("failures", list(permutations(BY_GRAVITY, 2)), ids=str)
def test_of_failures_at_once_the_gravest_is_raised_and_no_group(failures: tuple[Exception, Exception]) -> None:
    with pytest.raises(Exception) as raised:
        asyncio.run(gather(map(fail, failures)))
    assert raised.value is min(failures, key=BY_GRAVITY.index)


def test_the_cause_of_a_failure_stays_with_it() -> None:
    async def caused() -> int:
        raise UpstreamFailed from ConnectionError("why")

    with pytest.raises(UpstreamFailed) as raised:
        asyncio.run(gather([caused()]))
    assert isinstance(raised.value.__cause__, ConnectionError)


def test_one_within_another_fails_like_one() -> None:
    with pytest.raises(UpstreamFailed):
        asyncio.run(gather([gather([fail(UpstreamFailed())])]))

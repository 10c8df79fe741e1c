"""Concurrent coroutines: their results in order, or only the most severe failure."""

import asyncio
from itertools import permutations

import pytest

from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.backends.openstack.multi_region_reads import gather
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout

BY_SEVERITY = (ZeroDivisionError(), TokenRejected("t"), UpstreamFailed(), UpstreamTimeout())


async def succeed(value: int, pauses: int = 0) -> int:
    for _ in range(pauses):
        await asyncio.sleep(0)
    return value


async def fail(failure: Exception) -> int:
    raise failure


def test_results_are_in_the_order_of_the_coroutines() -> None:
    assert asyncio.run(gather(succeed(number, pauses=5 - number) for number in range(5))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("failures", list(permutations(BY_SEVERITY, 2)), ids=str)
def test_most_severe_failure_is_raised_without_a_group(failures: tuple[Exception, Exception]) -> None:
    with pytest.raises(Exception) as raised:
        asyncio.run(gather(map(fail, failures)))
    assert raised.value is min(failures, key=BY_SEVERITY.index)


def test_failure_keeps_its_cause() -> None:
    async def caused() -> int:
        raise UpstreamFailed from ConnectionError("why")

    with pytest.raises(UpstreamFailed) as raised:
        asyncio.run(gather([caused()]))
    assert isinstance(raised.value.__cause__, ConnectionError)


def test_nested_gather_raises_the_plain_failure() -> None:
    with pytest.raises(UpstreamFailed):
        asyncio.run(gather([gather([fail(UpstreamFailed())])]))

"""An operator at real pages makes what is planned, and tells what became of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import pytest
from history.changing import Changing
from history.cloud import Cloud
from history.forms import Form
from history.operators import Made, Operators
from history.pages import Pages, Sent
from history.plan import Change, planners
from history.recorder import Recorder
from history.recording import Write
from history.wires import Place

from history import changing
from tests.history.test_operators import ADDED, OTHER, REMOVED
from tests.history.warm import Warm

CLOUD = Cloud(2)
OF_T2 = ADDED._replace(register=("resource", "t2", "r2"), given={**ADDED.given, "tenant": "t2", "id": "r2"})

Result = TypeVar("Result")


@dataclass
class Nowhere:
    base: str = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    with Warm(tmp_path_factory.mktemp("pages"), CLOUD) as warm:
        yield warm


@pytest.fixture
def operators(deployed: Warm) -> Operators:
    return Operators(deployed.settings, CLOUD)


def at_pages(deployed: Warm, work: Callable[[Pages], Awaitable[Result]]) -> Result:
    """What comes of work by an operator who is not signed in yet; the third replica is never there."""

    async def working() -> Result:
        places: list[Place] = [*deployed.replicas, Nowhere()]
        pages = Pages(iter(range(1000)).__next__, places, CLOUD.operators[0], "127.0.0.1")
        try:
            return await work(pages)
        finally:
            await pages.close()

    return asyncio.run(working())


def made(deployed: Warm, *changes: Change) -> list[Made]:
    async def work(pages: Pages) -> list[Sent | None]:
        return [await pages.make(number % 2, change) for number, change in enumerate(changes)]

    return [sent.made for sent in at_pages(deployed, work) if sent is not None]


def test_whatever_is_planned_can_be_made_at_any_replica(deployed: Warm, operators: Operators) -> None:
    now = dict(operators.stored())

    async def work(pages: Pages) -> None:
        for planner in planners(CLOUD, 3):
            for number in range(5):
                change = planner.next()
                operators.expect(change)
                sent = await pages.make(number % 2, change)
                assert sent is not None
                assert sent.made == Made("done"), change
                assert sent.begin < sent.end
                planner.done(change)
                now[change.register] = change.value

    at_pages(deployed, work)
    assert dict(operators.stored()) == {register: value for register, value in now.items() if value is not None}


def test_what_is_there_already_and_what_is_not_there_are_refused(deployed: Warm) -> None:
    added, again, removed, once_more = made(deployed, ADDED, OTHER, REMOVED, REMOVED)
    assert (added, removed) == (Made("done"), Made("done"))
    assert again == Made("refused", problem="422 This was not done Id: there is a resource r already")
    assert (once_more.outcome, once_more.problem[:36]) == ("refused", "no form for /admin/resource/remove/:")


def test_a_change_to_what_it_is_changes_nothing(deployed: Warm) -> None:
    quota = Change(("quota", "t1"), "change", {}, {"cores": 7})
    assert made(deployed, quota, quota) == [Made("done"), Made("done", changed=False)]


def test_where_a_replica_does_not_serve_nothing_was_asked_for(deployed: Warm) -> None:
    assert at_pages(deployed, lambda pages: pages.make(2, ADDED)) is None


def test_a_form_without_an_answer_has_an_unknown_outcome(deployed: Warm) -> None:
    async def work(pages: Pages) -> Made:
        return await pages._send(Nowhere().base, Form("/admin/resource/add/"), {})

    assert at_pages(deployed, work) == Made("unknown", problem="ConnectError")


def test_a_form_that_is_read_after_its_operator_was_shut_out_changes_nothing(
    deployed: Warm, operators: Operators
) -> None:
    """This is what lets the next try come after all that were sent before."""

    async def work(pages: Pages) -> Sent | None:
        assert await pages.make(0, OF_T2) is not None
        assert await asyncio.to_thread(operators.shut_out, pages.operator)
        return await pages.make(1, OF_T2._replace(verb="remove", value=None, given={}))

    sent = at_pages(deployed, work)
    assert sent is not None
    assert sent.made == Made("refused", problem="sent to the sign-in, though nothing had ended the session")
    assert OF_T2.register in dict(operators.stored())


class Losing(Pages):
    """Every other answer to a form is lost, though it was sent."""

    losses = 0

    async def make(self, replica: int, change: Change) -> Sent | None:
        sent = await super().make(replica, change)
        self.losses += 1
        return sent._replace(made=Made("unknown")) if sent and self.losses % 2 else sent


def test_a_change_is_tried_until_its_outcome_is_known(
    deployed: Warm, operators: Operators, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "CHANCE_OF_PAGES", 1.0)
    monkeypatch.setattr(changing, "AGAIN_SECONDS", 0.0)
    change = Change(("quota", "t2"), "change", {}, {"cores": 8})

    async def working() -> tuple[Recorder, Write]:
        recorder = Recorder(wanted=9, seed=1, tenants={}, values=[])
        pages = Losing(recorder.now, deployed.replicas, CLOUD.operators[1], "127.0.0.1")
        try:
            return recorder, await Changing(recorder, operators, pages, Random(1)).make(change)
        finally:
            await pages.close()

    recorder, last = asyncio.run(working())
    tries = [(write.outcome, write.changed) for write in recorder.operations if isinstance(write, Write)]
    assert tries == [("unknown", True), ("done", False)]
    assert last is recorder.operations[-1]
    assert last.replica in (0, 1)

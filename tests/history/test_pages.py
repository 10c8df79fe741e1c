"""An operator at real pages makes what is planned, and tells what became of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import pytest
from history.changing import Changing
from history.checker import check
from history.cloud import Cloud, first_account
from history.forms import Form
from history.operators import Made, Operators
from history.pages import Odd, Pages, Sent
from history.plan import SHUT_OUT, Change, planners
from history.recorder import Recorder
from history.recording import Write
from history.wires import Place

from history import changing
from tests.history.test_operators import ADDED, OTHER, REMOVED
from tests.history.warm import Warm

CLOUD = Cloud(2)
OF_T2 = ADDED._replace(register=("resource", "t2", "r2"), given={**ADDED.given, "tenant": "t2", "id": "r2"})

REMOVED_OF_T2 = OF_T2._replace(verb="remove", value=None, given={})
ENDING = Change(("account", CLOUD.operators[0]), SHUT_OUT, first_account(CLOUD.operators[0]), {})

Result = TypeVar("Result")


@dataclass
class Nowhere:
    base: str = "http://127.0.0.1:9"


NOWHERE = 2
"""The replica that is never there."""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    with Warm(tmp_path_factory.mktemp("pages"), CLOUD) as warm:
        yield warm


@pytest.fixture
def operators(deployed: Warm) -> Operators:
    return Operators(deployed.settings, CLOUD)


def new_recorder() -> Recorder:
    return Recorder(wanted=1000, seed=1, tenants=CLOUD.accounts, values=list(CLOUD.values()))


def at_pages(
    deployed: Warm,
    work: Callable[[Pages], Awaitable[Result]],
    recorder: Recorder | None = None,
    kind: type[Pages] = Pages,
) -> Result:
    """What comes of work by an operator who is not signed in yet."""

    async def working() -> Result:
        places: list[Place] = [*deployed.replicas, Nowhere()]
        pages = kind(recorder or new_recorder(), places, CLOUD.operators[0], "127.0.0.1")
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
    assert again == Made("refused", problem="422 Nothing was changed Id: there is a resource r already")
    assert (once_more.outcome, once_more.problem[:36]) == ("refused", "no form for /admin/resource/remove/:")


def test_a_change_to_what_it_is_changes_nothing(deployed: Warm) -> None:
    quota = Change(("quota", "t1"), "change", {}, {"cores": 7})
    assert made(deployed, quota, quota) == [Made("done"), Made("done", changed=False)]


def test_where_a_replica_does_not_serve_nothing_was_asked_for(deployed: Warm) -> None:
    assert at_pages(deployed, lambda pages: pages.make(NOWHERE, ADDED)) is None


def test_a_form_without_an_answer_has_an_unknown_outcome(deployed: Warm) -> None:
    def work(pages: Pages) -> Awaitable[Made]:
        return pages._send(NOWHERE, Form("/admin/resource/add/"), {})

    assert at_pages(deployed, work) == Made("unknown", problem="ConnectError")


def test_sign_ins_and_pages_go_into_the_recording(deployed: Warm) -> None:
    recorder = new_recorder()
    quota = Change(("quota", "t1"), "change", {}, {"cores": 9})

    async def work(pages: Pages) -> None:
        await pages.make(0, quota)
        await pages.make(NOWHERE, quota)
        await pages.look_everywhere()

    at_pages(deployed, work, recorder)
    assert check(recorder).findings == []
    assert check(recorder).counts == {
        ("login at the pages", "200"): 1,
        ("operators' page", "200"): 3,
        ("operators' page", "unknown"): 2,
    }


def test_a_form_that_is_read_after_its_operator_was_shut_out_changes_nothing(
    deployed: Warm, operators: Operators
) -> None:
    """This is what lets the next try come after all that were sent before."""

    async def work(pages: Pages) -> Made:
        await pages.make(0, OF_T2)
        form = await pages._form_for(1, REMOVED_OF_T2)
        await asyncio.to_thread(operators.make, ENDING)
        return await pages._send(1, form, {})

    with pytest.raises(Odd, match="sent to the sign-in"):
        at_pages(deployed, work)
    assert OF_T2.register in dict(operators.stored())


def test_who_is_sent_to_the_sign_in_is_found_out_and_signs_in_again(deployed: Warm, operators: Operators) -> None:
    recorder = new_recorder()
    quota = Change(("quota", "t1"), "change", {}, {"cores": 10})

    async def work(pages: Pages) -> list[Sent | None]:
        first = await pages.make(0, quota)
        await asyncio.to_thread(operators.make, ENDING)
        return [first, await pages.make(1, quota), await pages.make(1, quota)]

    first, second, third = at_pages(deployed, work, recorder)
    assert first is not None
    assert second is None
    assert third is not None
    assert third.made == Made("done", changed=False)
    (finding,) = check(recorder).findings
    assert finding.problem == "refused, though nothing had ended the session"


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
    """In between the operator is shut out, everywhere."""
    monkeypatch.setattr(changing, "CHANCE_OF_PAGES", 1.0)
    monkeypatch.setattr(Losing, "replicas", range(2))
    recorder = new_recorder()
    change = Change(("quota", "t2"), "change", {}, {"cores": 8})
    last = at_pages(
        deployed, lambda pages: Changing(recorder, operators, pages, Random(1)).make(change), recorder, Losing
    )
    writes = [each for each in recorder.operations if isinstance(each, Write)]
    assert [(write.register, write.outcome, write.changed) for write in writes] == [
        (("quota", "t2"), "unknown", True),
        (("account", CLOUD.operators[0]), "done", True),
        (("quota", "t2"), "done", False),
    ]
    assert last is writes[-1]
    assert last.replica in range(2)
    checked = check(recorder)
    assert checked.findings == []
    assert checked.counts["operators' page", "401 login_required"] == 2

"""Changes through the admin UI of real servers, and their results; parsing of its pages."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import pytest
from consistency.admin_commands import AdminCommands, WriteResult
from consistency.admin_ui_client import AdminUiClient, HtmlForm, HtmlPage, Submission, UnexpectedResponse
from consistency.checker import check
from consistency.generators import REVOKE_SESSIONS, Change, write_generators
from consistency.history import HistoryRecorder, Write
from consistency.initial_cloud import Cloud, initial_account
from consistency.tenant_client import Endpoint
from consistency.workload import Writer

from consistency import workload
from tests.consistency.fault_free_deployment import FaultFreeDeployment
from tests.consistency.test_admin_commands import ADDED, OTHER, REMOVED

CLOUD = Cloud(2)
OF_T2 = ADDED._replace(register=("resource", "t2", "r2"), fields={**ADDED.fields, "tenant": "t2", "id": "r2"})
REMOVED_OF_T2 = OF_T2._replace(verb="remove", value=None, fields={})
REVOCATION = Change(("account", CLOUD.operators[0]), REVOKE_SESSIONS, initial_account(CLOUD.operators[0]), {})

Result = TypeVar("Result")


@dataclass
class Unreachable:
    base: str = "http://127.0.0.1:9"


UNREACHABLE = 2
"""The index of a replica that does not exist."""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultFreeDeployment]:
    with FaultFreeDeployment(tmp_path_factory.mktemp("ui"), CLOUD) as deployment:
        yield deployment


@pytest.fixture
def commands(deployed: FaultFreeDeployment) -> AdminCommands:
    return AdminCommands(deployed.settings, CLOUD)


def new_recorder() -> HistoryRecorder:
    return HistoryRecorder(target=1000, seed=1, tenants=CLOUD.accounts, values=list(CLOUD.values()))


def with_ui(
    deployed: FaultFreeDeployment,
    work: Callable[[AdminUiClient], Awaitable[Result]],
    recorder: HistoryRecorder | None = None,
    kind: type[AdminUiClient] = AdminUiClient,
) -> Result:
    """Run work with a client that is not signed in."""

    async def run() -> Result:
        endpoints: list[Endpoint] = [*deployed.replicas, Unreachable()]
        ui = kind(recorder or new_recorder(), endpoints, CLOUD.operators[0], "127.0.0.1")
        try:
            return await work(ui)
        finally:
            await ui.close()

    return asyncio.run(run())


def apply_all(deployed: FaultFreeDeployment, *changes: Change) -> list[WriteResult]:
    async def work(ui: AdminUiClient) -> list[Submission | None]:
        return [await ui.apply(number % 2, change) for number, change in enumerate(changes)]

    return [submission.result for submission in with_ui(deployed, work) if submission is not None]


def test_all_generated_changes_succeed_on_any_replica(deployed: FaultFreeDeployment, commands: AdminCommands) -> None:
    now = dict(commands.read_store())

    async def work(ui: AdminUiClient) -> None:
        for generator in write_generators(CLOUD, 3):
            for number in range(5):
                change = generator.next()
                commands.expect(change)
                submission = await ui.apply(number % 2, change)
                assert submission is not None
                assert submission.result == WriteResult("ok"), change
                assert submission.begin < submission.end
                generator.completed(change)
                now[change.register] = change.value

    with_ui(deployed, work)
    assert dict(commands.read_store()) == {register: value for register, value in now.items() if value is not None}


def test_adding_twice_and_removing_twice_are_rejected(deployed: FaultFreeDeployment) -> None:
    added, again, removed, once_more = apply_all(deployed, ADDED, OTHER, REMOVED, REMOVED)
    assert (added, removed) == (WriteResult("ok"), WriteResult("ok"))
    assert again == WriteResult("rejected", problem="422 Nothing was changed Id: resource r already exists")
    assert (once_more.outcome, once_more.problem[:36]) == ("rejected", "no form for /admin/resource/remove/:")


def test_a_change_to_the_current_value_is_a_no_op(deployed: FaultFreeDeployment) -> None:
    quota = Change(("quota", "t1"), "change", {}, {"cores": 7})
    assert apply_all(deployed, quota, quota) == [WriteResult("ok"), WriteResult("ok", changed=False)]


def test_an_unreachable_replica_is_no_attempt(deployed: FaultFreeDeployment) -> None:
    assert with_ui(deployed, lambda ui: ui.apply(UNREACHABLE, ADDED)) is None


def test_a_submission_without_a_response_has_an_unknown_outcome(deployed: FaultFreeDeployment) -> None:
    def work(ui: AdminUiClient) -> Awaitable[WriteResult]:
        return ui._submit(UNREACHABLE, HtmlForm("/admin/resource/add/"), {})

    assert with_ui(deployed, work) == WriteResult("unknown", problem="ConnectError")


def test_sign_ins_and_page_reads_are_recorded(deployed: FaultFreeDeployment) -> None:
    recorder = new_recorder()
    quota = Change(("quota", "t1"), "change", {}, {"cores": 9})

    async def work(ui: AdminUiClient) -> None:
        await ui.apply(0, quota)
        await ui.apply(UNREACHABLE, quota)
        await ui.read_everywhere()

    with_ui(deployed, work, recorder)
    assert check(recorder).anomalies == []
    assert check(recorder).counts == {
        ("login (admin UI)", "200"): 1,
        ("admin page", "200"): 3,
        ("admin page", "unknown"): 2,
    }


def test_a_form_processed_after_revocation_changes_nothing(
    deployed: FaultFreeDeployment, commands: AdminCommands
) -> None:
    """Guarantees that a retry takes effect after all earlier submissions."""

    async def work(ui: AdminUiClient) -> WriteResult:
        await ui.apply(0, OF_T2)
        form = await ui._open_form(1, REMOVED_OF_T2)
        await asyncio.to_thread(commands.apply, REVOCATION)
        return await ui._submit(1, form, {})

    with pytest.raises(UnexpectedResponse, match="redirected to the sign-in page"):
        with_ui(deployed, work)
    assert OF_T2.register in dict(commands.read_store())


def test_an_unexplained_sign_in_redirect_is_an_anomaly_and_the_client_signs_in_again(
    deployed: FaultFreeDeployment, commands: AdminCommands
) -> None:
    recorder = new_recorder()
    quota = Change(("quota", "t1"), "change", {}, {"cores": 10})

    async def work(ui: AdminUiClient) -> list[Submission | None]:
        first = await ui.apply(0, quota)
        await asyncio.to_thread(commands.apply, REVOCATION)
        return [first, await ui.apply(1, quota), await ui.apply(1, quota)]

    first, second, third = with_ui(deployed, work, recorder)
    assert first is not None
    assert second is None
    assert third is not None
    assert third.result == WriteResult("ok", changed=False)
    (anomaly,) = check(recorder).anomalies
    assert anomaly.problem == "valid session rejected"


class LossyClient(AdminUiClient):
    """Loses every other response to a form."""

    losses = 0

    async def apply(self, replica: int, change: Change) -> Submission | None:
        submission = await super().apply(replica, change)
        self.losses += 1
        return submission._replace(result=WriteResult("unknown")) if submission and self.losses % 2 else submission


def test_a_change_is_retried_until_its_outcome_is_known(
    deployed: FaultFreeDeployment, commands: AdminCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between attempts the operator's sessions are revoked."""
    monkeypatch.setattr(workload, "UI_PROBABILITY", 1.0)
    monkeypatch.setattr(LossyClient, "replicas", range(2))
    recorder = new_recorder()
    change = Change(("quota", "t2"), "change", {}, {"cores": 8})
    last = with_ui(deployed, lambda ui: Writer(recorder, commands, ui, Random(1)).apply(change), recorder, LossyClient)
    writes = [each for each in recorder.operations if isinstance(each, Write)]
    assert [(write.register, write.outcome, write.changed) for write in writes] == [
        (("quota", "t2"), "unknown", True),
        (("account", CLOUD.operators[0]), "ok", True),
        (("quota", "t2"), "ok", False),
    ]
    assert last is writes[-1]
    assert last.replica in range(2)
    checked = check(recorder)
    assert checked.anomalies == []
    assert checked.counts["admin page", "401 login_required"] == 2


PAGE = """
<p>Before</p>
<div role="alert"><h2>Not <em>done</em></h2> <ul><li>Id:<br> taken</li></ul></div>
<p>After</p>
<form action="/admin/news/change/?key=1&amp;a=b">
  <input type="hidden" name="key" value="&lt;1&gt;"><input name="title" value="">
  <input type="checkbox" name="ticked" checked><input type="checkbox" name="empty">
</form>
<form action="/admin/sign-out/"><input name="token" value="t"></form>
"""


def test_forms_are_parsed_with_their_default_input() -> None:
    assert HtmlPage(PAGE).forms == [
        HtmlForm("/admin/news/change/?key=1&a=b", {"key": "<1>", "title": "", "ticked": "on"}),
        HtmlForm("/admin/sign-out/", {"token": "t"}),
    ]


def test_a_form_is_found_by_its_action() -> None:
    page = HtmlPage(PAGE)
    assert page.form("/admin/news/change/") is page.forms[0]
    assert page.form("/admin/news/") is None


def test_only_alerts_are_reported() -> None:
    assert HtmlPage(PAGE).alert == "Not done Id: taken"
    assert HtmlPage("<p>All is well</p>").alert == ""

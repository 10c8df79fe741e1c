"""Changes wait for replicas, and fail if the operator's rights end before the commit."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.server.admin_ui import database
from cloudconsole.server.admin_ui import sessions as operator_sessions
from cloudconsole.server.http.body import read_body
from cloudconsole.server.http.request import Request
from cloudconsole.store.tables import sessions, tenants
from tests.harness import Reply
from tests.server.admin_ui.pages import SIGN_IN, Operator
from tests.server.http.helpers import change_account, record_replication_waits, rows
from tests.stores import write_transaction

ADD = "/admin/tenant/add/"
REVOCATIONS = [{"role": "tenant", "version": 1}, {"disabled": True}, {"version": 1}]
SIGNED_OUT: dict[str, object] = {}
"""The account is unchanged; only the session has ended."""


@pytest.mark.parametrize(("name", "succeeds"), [("fresh", True), ("demo", False)])
def test_response_waits_for_replicas_even_if_rejected(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, name: str, succeeds: bool
) -> None:
    """A rejection may be based on a very recent change by another replica."""
    add = operator.get(ADD).form(ADD)
    waits = record_replication_waits(monkeypatch)
    assert (operator.post(ADD, add.filled(name=name)).status == 303) is succeeds
    assert len(waits) == 1


@pytest.mark.parametrize("revocation", [*REVOCATIONS, SIGNED_OUT], ids=str)
def test_operator_revoked_during_upload_changes_nothing(
    operator: Operator, data: Path, monkeypatch: pytest.MonkeyPatch, revocation: dict[str, object]
) -> None:
    async def read_and_revoke(request: Request, limit: int) -> bytes:
        body = await read_body(request, limit)
        revoke(data, revocation)
        return body

    form = operator.get(ADD).form(ADD)
    monkeypatch.setattr(operator_sessions, "read_body", read_and_revoke)
    assert_rejected(operator.post(ADD, form.filled(name="late")), data)


@pytest.mark.parametrize("revocation", REVOCATIONS, ids=str)
def test_operator_revoked_before_the_transaction_changes_nothing(
    operator: Operator, data: Path, monkeypatch: pytest.MonkeyPatch, revocation: dict[str, object]
) -> None:
    """As while the change waits for the write lock."""

    def revoke_first(*arguments: Any, **options: Any) -> AbstractContextManager[OperatorTransaction]:
        revoke(data, revocation)
        return operator_transaction(*arguments, **options)

    form = operator.get(ADD).form(ADD)
    monkeypatch.setattr(database, "operator_transaction", revoke_first)
    assert_rejected(operator.post(ADD, form.filled(name="late")), data)


def revoke(data: Path, revocation: dict[str, object]) -> None:
    if revocation is not SIGNED_OUT:
        change_account(data, "operator", **revocation)
        return
    with write_transaction(data, "activity") as connection:
        connection.execute(delete(sessions))


def assert_rejected(reply: Reply, data: Path) -> None:
    assert (reply.status, (reply.header("location") or "").startswith(SIGN_IN)) == (303, True)
    assert "late" not in {row.name for row in rows(data, tenants)}

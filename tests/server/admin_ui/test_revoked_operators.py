"""Changes wait for replicas, and fail if the operator's rights end before the commit."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import Connection, delete, update

from cloudconsole.store.tables import accounts, sessions, tenants
from tests.harness import FORM, InProcessTransport
from tests.server.admin_ui.pages import SIGN_IN, Operator
from tests.server.http.helpers import change_account, record_replication_waits, rows
from tests.stores import opened, write_transaction

ADD = "/admin/tenant/add/"
REVOCATIONS = [{"role": "tenant", "version": 1}, {"disabled": True}, {"version": 1}]
SIGNED_OUT: dict[str, object] = {}
"""The account is unchanged; only the session has ended."""


@pytest.fixture
def form(operator: Operator) -> bytes:
    """Body of a request that adds a tenant."""
    return urlencode(operator.get(ADD).form(ADD).filled(name="late")).encode()


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
    operator: Operator, transport: InProcessTransport, data: Path, form: bytes, revocation: dict[str, object]
) -> None:
    messages: list[Any] = []
    chunks = iter([{"type": "http.request", "body": form[:5], "more_body": True}])

    async def receive() -> Any:
        first = next(chunks, None)
        if first is None:
            _end_sessions(data) if revocation is SIGNED_OUT else change_account(data, "operator", **revocation)
        return first or {"type": "http.request", "body": form[5:], "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    head = {
        "host": transport.base.partition("//")[2],
        "content-type": FORM,
        "content-length": str(len(form)),
        "cookie": f"operatorid={operator.client.cookies['operatorid']}",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": ADD,
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 50000),
        "headers": [(name.encode(), value.encode()) for name, value in head.items()],
    }
    transport.gather(transport.console(scope, receive, send))
    location = dict(messages[0]["headers"]).get(b"location", b"").decode()
    assert (messages[0]["status"], location.startswith(SIGN_IN)) == (303, True)
    assert "late" not in {row.name for row in rows(data, tenants)}


@pytest.mark.parametrize("revocation", REVOCATIONS, ids=str)
def test_operator_revoked_while_waiting_for_lock_changes_nothing(
    operator: Operator, transport: InProcessTransport, data: Path, form: bytes, revocation: dict[str, object]
) -> None:
    headers = [("Content-Type", FORM), ("Cookie", f"operatorid={operator.client.cookies['operatorid']}")]
    with opened(data, "cloud") as engine, engine.connect() as holder:
        # Takes the write lock, as any other change does.
        holder.begin()

        async def revoke() -> None:
            await asyncio.sleep(0.3)
            await asyncio.to_thread(_revoke, holder, revocation)

        reply, _ = transport.gather(transport.asend("POST", ADD, headers, form), revoke())
    assert (reply.status, reply.header("location").startswith(SIGN_IN)) == (303, True)
    assert "late" not in {row.name for row in rows(data, tenants)}


def _end_sessions(data: Path) -> None:
    with write_transaction(data, "activity") as connection:
        connection.execute(delete(sessions))


def _revoke(holder: Connection, revocation: dict[str, object]) -> None:
    holder.execute(update(accounts).where(accounts.c.username == "operator").values(**revocation))
    holder.commit()

"""Whoever is no operator any more changes nothing, however early the change was begun."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import Connection, delete, update

from cloudconsole.store.tables import accounts, sessions, tenants
from tests.harness import FORM, InProcess
from tests.server.admin_ui.pages import SIGN_IN, Operator
from tests.server.http.world import change_account, noting_settled, rows
from tests.stores import changing, opened

ADD = "/admin/tenant/add/"
DISMISSALS = [{"role": "tenant", "version": 1}, {"disabled": True}, {"version": 1}]
SIGNED_OUT: dict[str, object] = {}
"""The account is as it was; only the session has ended."""


@pytest.fixture
def form(operator: Operator) -> bytes:
    """What would add a tenant."""
    return urlencode(operator.get(ADD).form(ADD).filled(name="late")).encode()


@pytest.mark.parametrize(("name", "is_done"), [("fresh", True), ("demo", False)])
def test_what_became_of_a_change_is_told_only_when_no_replica_contradicts_it(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, name: str, is_done: bool
) -> None:
    """A refusal, too: it may tell of what was changed a moment ago on another replica."""
    add = operator.get(ADD).form(ADD)
    settled = noting_settled(monkeypatch)
    assert (operator.post(ADD, add.filled(name=name)).status == 303) is is_done
    assert len(settled) == 1


@pytest.mark.parametrize("dismissal", [*DISMISSALS, SIGNED_OUT], ids=str)
def test_while_the_form_is_being_sent(
    operator: Operator, wire: InProcess, data: Path, form: bytes, dismissal: dict[str, object]
) -> None:
    answered: list[Any] = []
    pieces = iter([{"type": "http.request", "body": form[:5], "more_body": True}])

    async def receive() -> Any:
        first = next(pieces, None)
        if first is None:
            _end_sessions(data) if dismissal is SIGNED_OUT else change_account(data, "operator", **dismissal)
        return first or {"type": "http.request", "body": form[5:], "more_body": False}

    async def send(message: Any) -> None:
        answered.append(message)

    head = {
        "host": wire.base.partition("//")[2],
        "content-type": FORM,
        "content-length": str(len(form)),
        "cookie": f"operatorid={operator.caller.cookies['operatorid']}",
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
    wire.together(wire.console(scope, receive, send))
    location = dict(answered[0]["headers"]).get(b"location", b"").decode()
    assert (answered[0]["status"], location.startswith(SIGN_IN)) == (303, True)
    assert "late" not in {row.name for row in rows(data, tenants)}


@pytest.mark.parametrize("dismissal", DISMISSALS, ids=str)
def test_while_the_change_waits_its_turn(
    operator: Operator, wire: InProcess, data: Path, form: bytes, dismissal: dict[str, object]
) -> None:
    headers = [("Content-Type", FORM), ("Cookie", f"operatorid={operator.caller.cookies['operatorid']}")]
    with opened(data, "cloud") as engine, engine.connect() as holder:
        # Takes the write lock, as any other change does.
        holder.begin()

        async def dismiss() -> None:
            await asyncio.sleep(0.3)
            await asyncio.to_thread(_dismiss, holder, dismissal)

        reply, _ = wire.together(wire.asend("POST", ADD, headers, form), dismiss())
    assert (reply.status, reply.header("location").startswith(SIGN_IN)) == (303, True)
    assert "late" not in {row.name for row in rows(data, tenants)}


def _end_sessions(data: Path) -> None:
    with changing(data, "activity") as connection:
        connection.execute(delete(sessions))


def _dismiss(holder: Connection, dismissal: dict[str, object]) -> None:
    holder.execute(update(accounts).where(accounts.c.username == "operator").values(**dismissal))
    holder.commit()

"""What the HTTP suites share: requests with exactly the given headers, and looks into the store behind the console."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from sqlalchemy import Row, Table, delete, select, update

from cloudconsole.server.writer import Writer
from cloudconsole.store.base import DatabaseName
from cloudconsole.store.tables import ACTIVITY, CLOUD, accounts
from tests.harness import FORM, JSON, HeaderPairs, InProcess, Reply
from tests.stores import changing, database_of, opened

PASSWORDS: Final = {"demo": "console-demo", "other": "console-other", "operator": "console-operator"}


def login_fields(wire: InProcess, username: str = "demo", **changes: str | None) -> dict[str, str]:
    """The fields of a good login but for its token; one given as None is left out."""
    fields: dict[str, str | None] = {
        "username": username,
        "password": PASSWORDS.get(username, "no-such-password"),
        "region": f"{wire.base}/v3",
        **changes,
    }
    return {name: value for name, value in fields.items() if value is not None}


def cookie_header(**cookies: str | None) -> HeaderPairs:
    pairs = "; ".join(f"{name}={value}" for name, value in cookies.items() if value is not None)
    return [("Cookie", pairs)] if pairs else []


def post_login(wire: InProcess, headers: HeaderPairs, fields: Mapping[str, str]) -> Reply:
    return wire.send("POST", "/auth/login/", [("Content-Type", FORM), *headers], urlencode(fields).encode())


def post_action(wire: InProcess, headers: HeaderPairs, body: bytes = b'{"action":"GetUrlList"}') -> Reply:
    return wire.send("POST", "/api/", [("Content-Type", JSON), *headers], body)


def is_live(wire: InProcess, session_id: str) -> bool:
    """Whether calls with this session id get past the session check; without a CSRF token they get no further."""
    reply = post_action(wire, cookie_header(sessionid=session_id))
    assert reply.error in ("login_required", "csrf_failed")
    return reply.error == "csrf_failed"


def settle(wire: InProcess) -> None:
    """Wait until what the console does in the background is done."""

    async def rest() -> None:
        # This one and the one that gathers it are under way themselves.
        while len(wire.under_way()) > 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    wire.together(rest())


def change_account(data: Path, username: str, **values: object) -> None:
    """Change an account as an operator's command does, in the store alone."""
    with changing(data, "cloud") as connection:
        changed = connection.execute(update(accounts).where(accounts.c.username == username).values(**values))
        assert changed.rowcount == 1


def remove_account(data: Path, username: str) -> None:
    with changing(data, "cloud") as connection:
        assert connection.execute(delete(accounts).where(accounts.c.username == username)).rowcount == 1


def rows(data: Path, table: Table) -> list[Row[Any]]:
    """Everything a table holds."""
    part: DatabaseName = "activity" if table.metadata is ACTIVITY else "cloud"
    with opened(data, part) as engine, engine.begin() as connection:
        return list(connection.execute(select(table).order_by(*table.primary_key)))


def stored_bytes(data: Path) -> bytes:
    """All that lies in the data folder, write-ahead logs included, and in the store's database, where it has one."""
    files = b"".join(file.read_bytes() for file in sorted(data.iterdir()) if file.is_file())
    if database_of(data) is None:
        return files
    every = (row for part in (CLOUD, ACTIVITY) for table in part.sorted_tables for row in rows(data, table))
    return files + b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in every for value in row
    )


def noting_settled(monkeypatch: pytest.MonkeyPatch) -> list[Writer]:
    """Each of the writers that somebody waits for from now on, until its changes hold everywhere."""
    settled = list[Writer]()

    async def settle(writer: Writer) -> None:
        settled.append(writer)

    monkeypatch.setattr(Writer, "wait_for_replicas", settle)
    return settled

"""Helpers of the HTTP tests: requests with exactly the given headers, and access to the console's store."""

import asyncio
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, ParamSpec
from urllib.parse import urlencode

import pytest
from sqlalchemy import Row, Table, delete, select, update

from cloudconsole.server.http.request import Headers, Request
from cloudconsole.server.writer import Writer
from cloudconsole.store.base import DatabaseName
from cloudconsole.store.tables import ACTIVITY, CLOUD, accounts
from tests.harness import FORM, JSON, HeaderPairs, InProcessTransport, Reply, Transport
from tests.stores import database_of, opened, write_transaction

Parameters = ParamSpec("Parameters")

PASSWORDS: Final = {"demo": "console-demo", "other": "console-other", "operator": "console-operator"}


class FakeTransport:
    """The socket of a connection, in memory; tests set how much is unsent."""

    def __init__(self) -> None:
        self.unsent = 100_000
        self.written = b""
        self.aborted = self.closed = self.sent_eof = self.supports_eof = False
        self.is_reading = True

    def get_extra_info(self, _name: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def set_write_buffer_limits(self, *, high: int) -> None:
        assert high == 1

    def write(self, data: bytes) -> None:
        self.written += data

    def can_write_eof(self) -> bool:
        return self.supports_eof

    def write_eof(self) -> None:
        self.sent_eof = True

    def is_closing(self) -> bool:
        return self.aborted or self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


def make_request(headers: list[tuple[bytes, bytes]], **fields: Any) -> Request:
    """A request without a body, as the server passes it on."""
    return Request(Headers(headers), "GET", "/api/", body_complete=True, **fields)


def login_fields(transport: InProcessTransport, username: str = "demo", **changes: str | None) -> dict[str, str]:
    """Fields of a valid login without its CSRF token; a field given as None is omitted."""
    fields: dict[str, str | None] = {
        "username": username,
        "password": PASSWORDS.get(username, "no-such-password"),
        "region": f"{transport.base}/v3",
        **changes,
    }
    return {name: value for name, value in fields.items() if value is not None}


def cookie_header(**cookies: str | None) -> HeaderPairs:
    pairs = "; ".join(f"{name}={value}" for name, value in cookies.items() if value is not None)
    return [("Cookie", pairs)] if pairs else []


def post_login(transport: Transport, headers: HeaderPairs, fields: Mapping[str, str]) -> Reply:
    return transport.send("POST", "/auth/login/", [("Content-Type", FORM), *headers], urlencode(fields).encode())


def post_action(transport: Transport, headers: HeaderPairs, body: bytes = b'{"action":"GetUrlList"}') -> Reply:
    return transport.send("POST", "/api/", [("Content-Type", JSON), *headers], body)


def is_live(transport: Transport, session_id: str) -> bool:
    """Whether requests with this session id pass the session check; without a CSRF token they get no further."""
    reply = post_action(transport, cookie_header(sessionid=session_id))
    assert reply.error in ("login_required", "csrf_failed")
    return reply.error == "csrf_failed"


def drain_tasks(transport: InProcessTransport) -> None:
    """Wait until the console's background tasks are done."""

    async def wait() -> None:
        # Two of the tasks are this one and the one that gathers it.
        while len(transport.background_tasks()) > 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    transport.gather(wait())


def change_account(data: Path, username: str, **values: object) -> None:
    """Change an account directly in the store, as an operator command does."""
    with write_transaction(data, "cloud") as connection:
        changed = connection.execute(update(accounts).where(accounts.c.username == username).values(**values))
        assert changed.rowcount == 1


def remove_account(data: Path, username: str) -> None:
    with write_transaction(data, "cloud") as connection:
        assert connection.execute(delete(accounts).where(accounts.c.username == username)).rowcount == 1


def rows(data: Path, table: Table) -> list[Row[Any]]:
    """All rows of a table."""
    part: DatabaseName = "activity" if table.metadata is ACTIVITY else "cloud"
    with opened(data, part) as engine, engine.begin() as connection:
        return list(connection.execute(select(table).order_by(*table.primary_key)))


def stored_bytes(data: Path) -> bytes:
    """All files in the data directory, including write-ahead logs, and all rows of the database, if there is one."""
    files = b"".join(file.read_bytes() for file in sorted(data.iterdir()) if file.is_file())
    if database_of(data) is None:
        return files
    all_rows = (row for part in (CLOUD, ACTIVITY) for table in part.sorted_tables for row in rows(data, table))
    return files + b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in all_rows for value in row
    )


def record_replication_waits(monkeypatch: pytest.MonkeyPatch) -> list[Writer]:
    """Record the writer of every replication wait from now on, and skip the wait."""
    waits = list[Writer]()

    async def wait_for_replicas(writer: Writer) -> None:
        waits.append(writer)

    monkeypatch.setattr(Writer, "wait_for_replicas", wait_for_replicas)
    return waits


class Page(HTMLParser):
    """The tags, ids and links of a page, and the contents of its `script` and `style` elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.inline:
            self.inline[tag].append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in self.inline:
            self.inline[self.cdata_elem][-1] += data

    @property
    def ids(self) -> list[str | None]:
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]

    @property
    def links(self) -> list[str | None]:
        return [attributes["href"] for _, attributes in self.tags if "href" in attributes]

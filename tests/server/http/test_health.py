"""Health checks: for any Host, while draining, and with an unusable store."""

from pathlib import Path

import pytest

from cloudconsole.server.http import health
from cloudconsole.store.base import DatabaseName
from cloudconsole.store.migrations import known_revisions
from tests.harness import InProcessTransport
from tests.stores import write_transaction

PATHS = ["/healthz", "/readyz"]


def change(data: Path, part: DatabaseName, statement: str) -> None:
    with write_transaction(data, part) as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["localhost", "10.0.0.7:8000", "evil.example", "not a host"])
def test_any_host_is_accepted(transport: InProcessTransport, path: str, host: str) -> None:
    reply = transport.send("GET", path, [("Host", host)])
    assert reply.envelope == {"message": reply.envelope["message"], "code": 200, "data": {}}
    assert [reply.header(name) for name in ("content-type", "cache-control")] == ["application/json", "no-store"]
    assert (reply.status, reply.set_cookies) == (200, {})


@pytest.mark.parametrize("path", PATHS)
def test_only_get_and_head_are_allowed(transport: InProcessTransport, path: str) -> None:
    reply = transport.send("HEAD", path, [])
    assert (reply.status, reply.body) == (200, b"")
    reply = transport.send("POST", path, [])
    assert (reply.status, reply.error, reply.header("allow")) == (405, "method_not_allowed", "GET, HEAD, OPTIONS")
    assert transport.send("OPTIONS", path, []).status == 204


@pytest.mark.parametrize("path", ["/healthz/", "/Readyz", "/healthz/x"])
def test_similar_paths_are_not_health_checks(transport: InProcessTransport, path: str) -> None:
    assert transport.send("GET", path, []).error == "not_found"
    assert transport.send("GET", path, [("Host", "evil.example")]).error == "invalid_host"


def test_the_message_is_in_the_clients_language(transport: InProcessTransport) -> None:
    assert transport.send("GET", "/readyz", [("Accept-Language", "zh")]).envelope["message"] == "已就绪。"


def test_a_draining_console_is_alive_but_not_ready(transport: InProcessTransport) -> None:
    transport.console.draining = True
    assert transport.send("GET", "/healthz", []).status == 200
    reply = transport.send("GET", "/readyz", [])
    assert (reply.status, reply.error, reply.header("retry-after")) == (503, "unavailable", "1")


@pytest.mark.parametrize("part", ["cloud", "activity"])
@pytest.mark.parametrize(
    ("damage", "found"),
    [("UPDATE alembic_version SET version_num = '9999'", "9999"), ("DELETE FROM alembic_version", "none")],
)
def test_a_schema_mismatch_is_not_ready_and_logged_when_it_begins_and_ends(
    transport: InProcessTransport,
    data: Path,
    caplog: pytest.LogCaptureFixture,
    part: DatabaseName,
    damage: str,
    found: str,
) -> None:
    def check_twice() -> tuple[int, list[str]]:
        """Return the status of two readiness checks, and all log messages so far."""
        statuses = {transport.send("GET", "/readyz", []).status for _ in range(2)}
        assert transport.send("GET", "/healthz", []).status == 200
        return statuses.pop(), [record.getMessage() for record in caplog.records if record.name == health.__name__]

    ours = known_revisions()[0]
    assert check_twice() == (200, [])
    change(data, part, damage)
    began = f"not ready: the store is at revision {found}, which this version (revision {ours}) cannot serve"
    assert check_twice() == (503, [began])
    change(data, part, "DELETE FROM alembic_version")
    change(data, part, f"INSERT INTO alembic_version VALUES ('{ours}')")
    assert check_twice() == (200, [began, f"ready: this version (revision {ours}) can serve the store again"])


@pytest.mark.parametrize(("part", "table"), [("cloud", "accounts"), ("activity", "sessions")])
def test_a_broken_store_is_not_ready_until_repaired(
    transport: InProcessTransport, data: Path, part: DatabaseName, table: str
) -> None:
    change(data, part, f"ALTER TABLE {table} RENAME TO elsewhere")
    reply = transport.send("GET", "/readyz", [])
    assert (reply.status, reply.error, reply.header("retry-after")) == (503, "unavailable", "1")
    assert table.encode() not in reply.body
    assert transport.send("GET", "/healthz", []).status == 200
    change(data, part, f"ALTER TABLE elsewhere RENAME TO {table}")
    assert transport.send("GET", "/readyz", []).status == 200

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
    assert reply.status == 200
    assert set(reply.envelope) == {"message", "code", "data"}
    assert (reply.envelope["code"], reply.envelope["data"]) == (200, {})
    assert reply.header("content-type") == "application/json"
    assert reply.header("cache-control") == "no-store"
    assert reply.set_cookies == {}


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
@pytest.mark.parametrize("revision", ["UPDATE alembic_version SET version_num = '9999'", "DELETE FROM alembic_version"])
def test_another_schema_revision_is_not_ready(
    transport: InProcessTransport, data: Path, part: DatabaseName, revision: str
) -> None:
    assert transport.send("GET", "/readyz", []).status == 200
    change(data, part, revision)
    assert transport.send("GET", "/readyz", []).error == "unavailable"
    assert transport.send("GET", "/healthz", []).status == 200


@pytest.mark.parametrize(
    ("damage", "found"),
    [("UPDATE alembic_version SET version_num = '9999'", "9999"), ("DELETE FROM alembic_version", "none")],
)
def test_start_and_end_of_a_schema_mismatch_are_logged_once(
    transport: InProcessTransport, data: Path, caplog: pytest.LogCaptureFixture, damage: str, found: str
) -> None:
    def logged_after_checks() -> list[str]:
        """Log messages after two more readiness checks."""
        for _ in range(2):
            transport.send("GET", "/readyz", [])
        return [record.getMessage() for record in caplog.records if record.name == health.__name__]

    ours = known_revisions()[0]
    assert logged_after_checks() == []
    change(data, "cloud", damage)
    began = f"not ready: the store is at revision {found}, which this version (revision {ours}) cannot serve"
    assert logged_after_checks() == [began]
    change(data, "cloud", "DELETE FROM alembic_version")
    change(data, "cloud", f"INSERT INTO alembic_version VALUES ('{ours}')")
    assert logged_after_checks() == [began, f"ready: this version (revision {ours}) can serve the store again"]


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

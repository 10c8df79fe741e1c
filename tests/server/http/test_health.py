"""Health checks: for any Host, while stopping, and with a store that does not do."""

from pathlib import Path

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http import health
from cloudconsole.store.base import DatabaseName
from cloudconsole.store.migrations import known_revisions
from tests.harness import Caller, InProcess
from tests.server.http.conftest import StartConsole
from tests.stores import changing

BOTH = ["/healthz", "/readyz"]


def change(data: Path, part: DatabaseName, statement: str) -> None:
    with changing(data, part) as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("path", BOTH)
@pytest.mark.parametrize("host", ["localhost", "10.0.0.7:8000", "evil.example", "not a host"])
def test_any_host_will_do(wire: InProcess, path: str, host: str) -> None:
    reply = wire.send("GET", path, [("Host", host)])
    assert reply.status == 200
    assert set(reply.envelope) == {"message", "code", "data"}
    assert (reply.envelope["code"], reply.envelope["data"]) == (200, {})
    assert reply.header("content-type") == "application/json"
    assert reply.header("cache-control") == "no-store"
    assert reply.set_cookies == {}


@pytest.mark.parametrize("path", BOTH)
def test_a_head_has_no_body(wire: InProcess, path: str) -> None:
    reply = wire.send("HEAD", path, [])
    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize("path", BOTH)
def test_other_methods_are_refused(wire: InProcess, path: str) -> None:
    reply = wire.send("POST", path, [])
    assert (reply.status, reply.error, reply.header("allow")) == (405, "method_not_allowed", "GET, HEAD, OPTIONS")
    assert wire.send("OPTIONS", path, []).status == 204


@pytest.mark.parametrize("path", ["/healthz/", "/Readyz", "/healthz/x"])
def test_only_these_paths_are_health_checks(wire: InProcess, path: str) -> None:
    assert wire.send("GET", path, []).error == "not_found"
    assert wire.send("GET", path, [("Host", "evil.example")]).error == "invalid_host"


def test_the_message_follows_the_callers_language(wire: InProcess) -> None:
    assert wire.send("GET", "/readyz", [("Accept-Language", "zh")]).envelope["message"] == "已就绪。"


def test_while_stopping_it_is_alive_but_not_ready(wire: InProcess) -> None:
    wire.console.draining = True
    assert wire.send("GET", "/healthz", []).status == 200
    reply = wire.send("GET", "/readyz", [])
    assert (reply.status, reply.error, reply.header("retry-after")) == (503, "unavailable", "1")


@pytest.mark.parametrize("part", ["cloud", "activity"])
@pytest.mark.parametrize("revision", ["UPDATE alembic_version SET version_num = '9999'", "DELETE FROM alembic_version"])
def test_with_tables_of_another_version_it_is_not_ready(
    wire: InProcess, data: Path, part: DatabaseName, revision: str
) -> None:
    assert wire.send("GET", "/readyz", []).status == 200
    change(data, part, revision)
    assert wire.send("GET", "/readyz", []).error == "unavailable"
    assert wire.send("GET", "/healthz", []).status == 200


@pytest.mark.parametrize(
    ("harm", "found"),
    [("UPDATE alembic_version SET version_num = '9999'", "9999"), ("DELETE FROM alembic_version", "none")],
)
def test_tables_of_another_version_are_told_once_and_so_is_their_end(
    wire: InProcess, data: Path, caplog: pytest.LogCaptureFixture, harm: str, found: str
) -> None:
    def asked() -> list[str]:
        """What has been told once it was asked twice."""
        for _ in range(2):
            wire.send("GET", "/readyz", [])
        return [record.getMessage() for record in caplog.records if record.name == health.__name__]

    ours = known_revisions()[0]
    assert asked() == []
    change(data, "cloud", harm)
    began = f"not ready: the store is at revision {found}, which this version (revision {ours}) cannot serve"
    assert asked() == [began]
    change(data, "cloud", "DELETE FROM alembic_version")
    change(data, "cloud", f"INSERT INTO alembic_version VALUES ('{ours}')")
    assert asked() == [began, f"ready: this version (revision {ours}) can serve the store again"]


@pytest.mark.parametrize(("part", "table"), [("cloud", "accounts"), ("activity", "sessions")])
def test_with_a_broken_store_it_is_not_ready_until_it_is_mended(
    wire: InProcess, data: Path, part: DatabaseName, table: str
) -> None:
    change(data, part, f"ALTER TABLE {table} RENAME TO elsewhere")
    reply = wire.send("GET", "/readyz", [])
    assert (reply.status, reply.error, reply.header("retry-after")) == (503, "unavailable", "1")
    assert table.encode() not in reply.body
    assert wire.send("GET", "/healthz", []).status == 200
    change(data, part, f"ALTER TABLE elsewhere RENAME TO {table}")
    assert wire.send("GET", "/readyz", []).status == 200


def test_cookies_are_neither_read_nor_kept_alive(demo: Caller, settings: Settings, start_console: StartConsole) -> None:
    assert demo.send("GET", "/readyz", {"Cookie": "sessionid=" + "x" * 5000}).status == 200
    assert demo.call("GetNews").status == 200

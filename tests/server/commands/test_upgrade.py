"""Upgrades: a newer version migrates the store while a console of this version serves it."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from cloudconsole.operator.transaction import os_user_name
from tests.e2e.processes import command
from tests.harness import ApiClient, HttpTransport, Reply, RunningServer, running_server
from tests.newer_version import CURRENT_REVISION, NEWER_REVISION, NewerVersion
from tests.older_stores import make_older
from tests.stores import database_environment

pytestmark = pytest.mark.slow


def migrate(directory: Path, *, oldest_compatible: str) -> None:
    newer = NewerVersion(directory / "newer", oldest_compatible=oldest_compatible)
    done = newer.run("admin", "migrate", "--json", data=directory / "data")
    assert (done.returncode, json.loads(done.stdout)["revision"]) == (0, NEWER_REVISION), done.stderr
    assert f"from revision {CURRENT_REVISION} to {NEWER_REVISION}" in done.stderr


def admin(directory: Path, *arguments: str) -> tuple[int, str, str]:
    data = directory / "data"
    done = command("admin", *arguments, CLOUDCONSOLE_DATA=str(data), **database_environment(data))
    return done.returncode, done.stdout, done.stderr


def migrations(directory: Path) -> list[tuple[str, str, str]]:
    """Return who migrated the store, from and to which revision."""
    _, entries, _ = admin(directory, "audit", "--json")
    return [
        (entry["actor"], entry["before"]["revision"], entry["after"]["revision"])
        for entry in json.loads(entries)
        if entry["change"] == "migrate"
    ]


def get(server: RunningServer, path: str) -> Reply:
    with closing(HttpTransport(server.base)) as transport:
        return transport.send("GET", path, [])


def is_ready_and_serves(server: RunningServer) -> bool:
    with closing(HttpTransport(server.base)) as transport:
        client = ApiClient(transport)
        responses = [get(server, "/readyz"), client.login(), client.call("GetUsageLimits")]
    return [response.status for response in responses] == [200, 200, 200]


def test_a_compatible_migration_keeps_running_servers_ready(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        migrate(tmp_path, oldest_compatible=CURRENT_REVISION)
        assert is_ready_and_serves(server)
    # A replica of this version can still be restarted, and its commands still work.
    with running_server(tmp_path) as restarted:
        assert is_ready_and_serves(restarted)
    assert admin(tmp_path, "node", "add", "new")[0] == 0
    assert migrations(tmp_path) == [(os_user_name(), CURRENT_REVISION, NEWER_REVISION)]


def test_an_incompatible_migration_makes_running_servers_unready(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        migrate(tmp_path, oldest_compatible=NEWER_REVISION)
        ready, alive = get(server, "/readyz"), get(server, "/healthz")
        assert (ready.status, ready.error, alive.status) == (503, "unavailable", 200)
        assert (
            f"revision {NEWER_REVISION}, which this version (revision {CURRENT_REVISION}) cannot serve"
            in ready.envelope["message"]
        )
        assert f"not ready: the store is at revision {NEWER_REVISION}" in server.log()
    code, _, message = admin(tmp_path, "node", "add", "new")
    assert (code, f"newer Cloud Console (revision {NEWER_REVISION})" in message) == (1, True)


@pytest.mark.embedded_only
def test_a_migration_at_start_is_logged_and_audited(tmp_path: Path) -> None:
    with running_server(tmp_path):
        pass
    make_older(tmp_path / "data")
    with running_server(tmp_path) as server:
        assert f"migrated the store (cloud) from revision 0002 to {CURRENT_REVISION}" in server.log()
    assert migrations(tmp_path) == [(os_user_name(), "0002", CURRENT_REVISION)]

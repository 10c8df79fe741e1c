"""Upgrades: a newer version migrates the store while a console of this version serves it."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from cloudconsole.server.commands.common import user_name
from tests.e2e.processes import command
from tests.harness import Caller, OverHttp, Reply, RunningServer, running_server
from tests.newer_version import NEWER, OWN, NewerVersion
from tests.older_stores import make_older
from tests.stores import variables_of

pytestmark = pytest.mark.long


def migrate(folder: Path, *, oldest_compatible: str) -> None:
    newer = NewerVersion(folder / "newer", oldest_compatible=oldest_compatible)
    done = newer.run("admin", "migrate", "--json", data=folder / "data")
    assert (done.returncode, json.loads(done.stdout)["revision"]) == (0, NEWER), done.stderr
    assert f"from revision {OWN} to {NEWER}" in done.stderr


def admin(folder: Path, *arguments: str) -> tuple[int, str, str]:
    data = folder / "data"
    done = command("admin", *arguments, CLOUDCONSOLE_DATA=str(data), **variables_of(data))
    return done.returncode, done.stdout, done.stderr


def migrations(folder: Path) -> list[tuple[str, str, str]]:
    """Who migrated the store, from and to which revision."""
    _, lines, _ = admin(folder, "audit", "--json")
    return [
        (line["actor"], line["before"]["revision"], line["after"]["revision"])
        for line in json.loads(lines)
        if line["change"] == "migrate"
    ]


def get(server: RunningServer, path: str) -> Reply:
    with closing(OverHttp(server.base)) as wire:
        return wire.send("GET", path, [])


def is_ready_and_serves(server: RunningServer) -> bool:
    with closing(OverHttp(server.base)) as wire:
        caller = Caller(wire)
        answers = [get(server, "/readyz"), caller.login(), caller.call("GetUsageLimits")]
    return [answer.status for answer in answers] == [200, 200, 200]


def test_a_compatible_migration_keeps_running_servers_ready(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        migrate(tmp_path, oldest_compatible=OWN)
        assert is_ready_and_serves(server)
    # So a replica of this version can be restarted meanwhile, and its commands can be used.
    with running_server(tmp_path) as restarted:
        assert is_ready_and_serves(restarted)
    assert admin(tmp_path, "node", "add", "new")[0] == 0
    assert migrations(tmp_path) == [(user_name(), OWN, NEWER)]


def test_an_incompatible_migration_makes_running_servers_unready_with_the_reason(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        migrate(tmp_path, oldest_compatible=NEWER)
        ready, alive = get(server, "/readyz"), get(server, "/healthz")
        assert (ready.status, ready.error, alive.status) == (503, "unavailable", 200)
        assert f"revision {NEWER}, which this version (revision {OWN}) cannot serve" in ready.envelope["message"]
        assert f"not ready: the store is at revision {NEWER}" in server.log()
    code, _, words = admin(tmp_path, "node", "add", "new")
    assert (code, f"newer Cloud Console (revision {NEWER})" in words) == (1, True)


@pytest.mark.embedded_only
def test_a_migration_at_start_is_logged_and_audited(tmp_path: Path) -> None:
    with running_server(tmp_path):
        pass
    make_older(tmp_path / "data")
    with running_server(tmp_path) as server:
        assert f"migrated the store (cloud) from revision 0002 to {OWN}" in server.log()
    assert migrations(tmp_path) == [(user_name(), "0002", OWN)]

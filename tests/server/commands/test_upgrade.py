"""Upgrades: a newer version migrates the store while a console of this version serves it."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.app import Console
from tests.harness import ApiClient, HttpTransport, InProcessTransport, running_server
from tests.newer_version import CURRENT_REVISION, NEWER_REVISION, NewerVersion, make_newer
from tests.older_stores import make_older
from tests.server.commands.conftest import Run
from tests.stores import copy_store, settings_for

pytestmark = pytest.mark.slow


def migrations(cloudconsole: Run, data: Path) -> list[tuple[str, str, str]]:
    """Return who migrated the store, from and to which revision."""
    return [
        (entry["actor"], entry["before"]["revision"], entry["after"]["revision"])
        for entry in json.loads(cloudconsole("admin", "audit", "--json", "--data", data).out)
        if entry["change"] == "migrate"
    ]


def is_ready_and_serves(transport: HttpTransport | InProcessTransport) -> bool:
    with closing(transport):
        client = ApiClient(transport)
        responses = [transport.send("GET", "/readyz", []), client.login(), client.call("GetUsageLimits")]
    return [response.status for response in responses] == [200, 200, 200]


def test_compatible_migration_keeps_servers_ready(cloudconsole: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    newer = NewerVersion(tmp_path / "newer", oldest_compatible=CURRENT_REVISION)
    with running_server(tmp_path) as server:
        done = newer.run("admin", "migrate", "--json", data=data)
        assert (done.returncode, json.loads(done.stdout)["revision"]) == (0, NEWER_REVISION), done.stderr
        assert f"from revision {CURRENT_REVISION} to {NEWER_REVISION}" in done.stderr
        assert is_ready_and_serves(HttpTransport(server.base))
    # A replica of this version can still be restarted, and its commands still work.
    assert is_ready_and_serves(InProcessTransport(Console(settings_for(data))))
    assert cloudconsole("admin", "node", "add", "new", "--data", data).code == 0
    assert migrations(cloudconsole, data) == [(os_user_name(), CURRENT_REVISION, NEWER_REVISION)]


@pytest.mark.embedded_only
def test_incompatible_migration_makes_servers_unready(admin: Run, data: Path, transport: InProcessTransport) -> None:
    make_newer(data, oldest_compatible=NEWER_REVISION)
    ready, alive = (transport.send("GET", path, []) for path in ("/readyz", "/healthz"))
    assert (ready.status, ready.error, alive.status) == (503, "unavailable", 200)
    reason = f"revision {NEWER_REVISION}, which this version (revision {CURRENT_REVISION}) cannot serve"
    assert reason in ready.envelope["message"]
    done = admin("node", "add", "new")
    assert (done.code, f"newer Cloud Console (revision {NEWER_REVISION})" in done.err) == (1, True)


@pytest.mark.embedded_only
def test_a_migration_at_start_is_logged_and_audited(cloudconsole: Run, fast_hash_store: Path, tmp_path: Path) -> None:
    make_older(copy_store(fast_hash_store, tmp_path / "data"))
    with running_server(tmp_path) as server:
        assert f"migrated the store (cloud) from revision 0002 to {CURRENT_REVISION}" in server.log()
    assert migrations(cloudconsole, tmp_path / "data") == [(os_user_name(), "0002", CURRENT_REVISION)]


def test_migrate_reports_the_revision(admin: Run) -> None:
    assert f"are up to date (revision {CURRENT_REVISION})\n" in admin("migrate").out

"""Durability: changes acknowledged before a SIGKILL in the middle of writing are never lost."""

import os
import random
import sqlite3
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.e2e.forked_targets import write_resources
from tests.e2e.processes import eventually, workers
from tests.fork_server import MAX_WAIT_SECONDS, fork_context
from tests.harness import ApiClient, HttpTransport, RunningServer, running_server

ROUNDS = 2
WORKERS = 2
CLIENTS = 3


@dataclass
class Acknowledged:
    """Changes confirmed before a kill; changes in progress at the time are not included."""

    logins: list[dict[str, str]] = field(default_factory=list)
    logouts: list[dict[str, str]] = field(default_factory=list)
    recorded: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)


def log_in_and_out(server: RunningServer, acknowledged: Acknowledged) -> None:
    """Log in and, every other time, log out again, until the server is gone."""
    with suppress(OSError, HTTPException), closing(HttpTransport(server.base)) as transport:
        for number in range(10_000):
            client = ApiClient(transport)
            assert client.login().status == 200
            cookies = dict(client.cookies)
            if number % 2:
                acknowledged.logins.append(cookies)
            else:
                assert client.logout().status == 200
                acknowledged.logouts.append(cookies)


def read_report(report: Path, acknowledged: Acknowledged) -> None:
    """Collect the writer's acknowledgements; an incomplete last line does not count."""
    for line in report.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            change, name = line.split()
            (acknowledged.recorded if change == "recorded" else acknowledged.ended).add(name)


def kill_while_writing(server: RunningServer, writer: int, report: Path) -> None:
    """Kill the server, its workers and the writer at a random moment, once all of them are writing."""
    eventually(lambda: report.exists() and "ended" in report.read_text())
    # No event: the moment is random on purpose.
    time.sleep(random.uniform(0, 0.5))
    processes = [server.process.pid, *workers(server), writer]
    random.shuffle(processes)
    for process in processes:
        os.kill(process, 9)


def assert_saved(data: Path, acknowledged: Acknowledged) -> None:
    for part in ("cloud", "activity"):
        with closing(sqlite3.connect(data / f"{part}.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    with closing(sqlite3.connect(data / "cloud.db")) as connection:
        found = dict(connection.execute("SELECT id, ended_at IS NOT NULL FROM resources").fetchall())
    assert acknowledged.recorded <= set(found)
    assert acknowledged.ended <= {name for name, has_ended in found.items() if has_ended}


def assert_totals_right(data: Path) -> None:
    columns = "COUNT(*), SUM(vcpus), SUM(ram_mb), SUM(size_gb)"
    counted = f"SELECT tenant_id, kind, COALESCE(node_id, 0), {columns} FROM resources WHERE ended_at IS NULL"
    stored = "SELECT tenant_id, kind, node_id, items, vcpus, ram_mb, size_gb FROM totals WHERE items <> 0"
    with closing(sqlite3.connect(data / "cloud.db")) as connection:
        recount = connection.execute(f"{counted} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3").fetchall()
        assert connection.execute(f"{stored} ORDER BY 1, 2, 3").fetchall() == recount
        nothing_left = "items = 0 AND (vcpus, ram_mb, ram_gb, size_gb) <> (0, 0, 0, 0)"
        assert connection.execute(f"SELECT * FROM totals WHERE {nothing_left}").fetchall() == []


def assert_record_right(data: Path) -> None:
    """The record of costs has what the resources have, also if a kill came in between."""
    amounts = "SUM(vcpus), SUM(size_gb)"
    running = f"SELECT tenant_id, kind, node_id, COUNT(*), {amounts} FROM resources WHERE ended_at IS NULL"
    recorded = f"SELECT tenant_id, kind, node_id, SUM(items), {amounts} FROM billing_entries"
    billable = "kind IN ('instance', 'image', 'loadbalance', 'volume')"
    with closing(sqlite3.connect(data / "cloud.db")) as connection:
        expected = connection.execute(f"{running} AND {billable} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3").fetchall()
        found = connection.execute(f"{recorded} GROUP BY 1, 2, 3 HAVING SUM(items) <> 0 ORDER BY 1, 2, 3").fetchall()
    assert found == expected


def assert_sessions_saved(server: RunningServer, acknowledged: Acknowledged) -> None:
    with closing(HttpTransport(server.base)) as transport:
        live, ended = (
            [ApiClient(transport, cookies).call("GetUrlList").status for cookies in all_cookies]
            for all_cookies in (acknowledged.logins, acknowledged.logouts)
        )
    assert (set(live), set(ended)) == ({200}, {401})


def test_acknowledged_changes_survive_kills(tmp_path: Path) -> None:
    data, acknowledged = tmp_path / "data", Acknowledged()
    for number in range(ROUNDS):
        with running_server(tmp_path, "--workers", str(WORKERS)) as server:
            if acknowledged.logins:
                assert_sessions_saved(server, acknowledged)
            report = tmp_path / f"report-{number}"
            clients = [threading.Thread(target=log_in_and_out, args=(server, acknowledged)) for _ in range(CLIENTS)]
            writer = fork_context().Process(target=write_resources, args=(data, f"round-{number}", report), daemon=True)
            writing: list[Any] = [writer, *clients]
            for each in writing:
                each.start()
            eventually(lambda: acknowledged.logins and acknowledged.logouts)
            kill_while_writing(server, writer.pid or 0, report)
            for each in writing:
                each.join(MAX_WAIT_SECONDS)
            read_report(report, acknowledged)
            server.process.wait()
        assert_saved(data, acknowledged)
        assert_totals_right(data)
        assert_record_right(data)
    assert acknowledged.recorded
    assert acknowledged.ended
    with running_server(tmp_path) as server:
        assert_sessions_saved(server, acknowledged)

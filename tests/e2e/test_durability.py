"""Killed without warning, again and again, in the middle of writing: whatever was acknowledged is still so."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.e2e import resource_writer
from tests.e2e.processes import eventually, workers
from tests.harness import Caller, OverHttp, RunningServer, clean_environment, running_server

ROUNDS = 4
VISITORS = 3


@dataclass
class Acknowledged:
    """What was answered or reported before a kill; what was under way then is in none of these."""

    logins: list[dict[str, str]] = field(default_factory=list)
    logouts: list[dict[str, str]] = field(default_factory=list)
    recorded: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)


def visit(server: RunningServer, seen: Acknowledged) -> None:
    """Log in and, every other time, out again, until the server is gone."""
    wire = OverHttp(server.base)
    try:
        for number in range(10_000):
            caller = Caller(wire)
            assert caller.login().status == 200
            if number % 2:
                seen.logins.append(dict(caller.cookies))
                continue
            cookies = dict(caller.cookies)
            assert caller.logout().status == 200
            seen.logouts.append(cookies)
    except (OSError, HTTPException):
        return
    finally:
        wire.close()


@contextmanager
def writing_resources(data: Path, prefix: str, report: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with report.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", resource_writer.__name__, str(data), prefix],
            stdout=output,
            cwd=Path(__file__).parents[2],
            env=clean_environment(),
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def read_report(report: Path, seen: Acknowledged) -> None:
    """The writer's acknowledgements; a last line without its end was not made."""
    for line in report.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            what, name = line.split()
            (seen.recorded if what == "recorded" else seen.ended).add(name)


def kill_in_the_middle(server: RunningServer, writer: "subprocess.Popen[bytes]", report: Path) -> None:
    """Kill the server, its workers and the writer at a moment of no one's choosing, once all of them are at it."""
    eventually(lambda: report.stat().st_size > 0)
    time.sleep(random.uniform(0.2, 0.7))
    processes = [server.process.pid, *workers(server), writer.pid]
    random.shuffle(processes)
    for process in processes:
        os.kill(process, 9)


def assert_sound(data: Path) -> None:
    for part in ("cloud", "activity"):
        with closing(sqlite3.connect(data / f"{part}.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def assert_resources_kept(data: Path, seen: Acknowledged) -> None:
    with closing(sqlite3.connect(data / "cloud.db")) as connection:
        found = dict(connection.execute("SELECT id, ended_at IS NOT NULL FROM resources").fetchall())
    assert seen.recorded <= set(found)
    assert seen.ended <= {name for name, has_ended in found.items() if has_ended}


def assert_totals_right(data: Path) -> None:
    columns = "COUNT(*), SUM(vcpus), SUM(ram_mb), SUM(size_gb)"
    counted = f"SELECT tenant_id, kind, COALESCE(node_id, 0), {columns} FROM resources WHERE ended_at IS NULL"
    kept = "SELECT tenant_id, kind, node_id, items, vcpus, ram_mb, size_gb FROM totals WHERE items <> 0"
    with closing(sqlite3.connect(data / "cloud.db")) as connection:
        recount = connection.execute(f"{counted} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3").fetchall()
        assert connection.execute(f"{kept} ORDER BY 1, 2, 3").fetchall() == recount
        nothing_left = "items = 0 AND (vcpus, ram_mb, ram_gb, size_gb) <> (0, 0, 0, 0)"
        assert connection.execute(f"SELECT * FROM totals WHERE {nothing_left}").fetchall() == []


def assert_sessions_kept(server: RunningServer, seen: Acknowledged) -> None:
    wire = OverHttp(server.base)
    assert {Caller(wire, cookies).call("GetUrlList").status for cookies in seen.logins} == {200}
    assert {Caller(wire, cookies).call("GetUrlList").error for cookies in seen.logouts} == {"login_required"}
    wire.close()


@pytest.mark.parametrize("count", [1, 2])
def test_what_was_acknowledged_survives_kills(tmp_path: Path, count: int) -> None:
    data, seen = tmp_path / "data", Acknowledged()
    for number in range(ROUNDS // 2):
        with running_server(tmp_path, "--workers", str(count)) as server:
            if seen.logins:
                assert_sessions_kept(server, seen)
            report = tmp_path / f"report-{number}"
            visitors = [threading.Thread(target=visit, args=(server, seen)) for _ in range(VISITORS)]
            with writing_resources(data, f"round-{number}", report) as writer:
                for visitor in visitors:
                    visitor.start()
                eventually(lambda: seen.logins and seen.logouts)
                kill_in_the_middle(server, writer, report)
            for visitor in visitors:
                visitor.join(timeout=60)
            read_report(report, seen)
            server.process.wait()
        assert_sound(data)
        assert_resources_kept(data, seen)
        assert_totals_right(data)
    assert seen.recorded
    assert seen.ended
    with running_server(tmp_path) as server:
        assert_sessions_kept(server, seen)

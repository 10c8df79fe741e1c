"""Doctor's advice, pasted into a shell: each command fixes what it was given for."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.certificate_factory import write_certificate
from tests.older_stores import make_older
from tests.server.doctor.conftest import execute, fail_logins
from tests.server.doctor.pasted_commands import Patient

pytestmark = [pytest.mark.embedded_only, pytest.mark.long]

ONLY_ROOT = pytest.mark.skipif(
    os.getuid() != 0 and os.environ.get("CI") != "true", reason="only root can give files away"
)
NOBODY = 4711
"""A user without a name."""


@pytest.fixture
def store(data: Path, tmp_path: Path) -> Path:
    """Return the store's folder, whose name must be quoted in a shell."""
    folder = tmp_path / "my console's data"
    shutil.move(data, folder)
    folder.chmod(0o700)
    return folder


@pytest.fixture
def patient(store: Path, tmp_path: Path) -> Patient:
    config = tmp_path / "my console.toml"
    config.write_text("port = 0\n")
    return Patient(tmp_path, config=config, data=store)


def _remove(name: str) -> Callable[[Path], None]:
    return lambda store: (store / name).unlink()


def _chown(*names: str) -> Callable[[Path], None]:
    def give_away(store: Path) -> None:
        for name in names:
            os.chown(store / name, NOBODY, NOBODY)

    return give_away


def _leave_behind(store: Path) -> None:
    (store / ".restore-abc").mkdir()
    os.utime(store / ".restore-abc", (0, 0))


def _sql(part: str, statement: str) -> Callable[[Path], None]:
    return lambda store: execute(store, part, statement)


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        pytest.param(lambda store: store.chmod(0o755), "other users can access", id="open folder"),
        pytest.param(
            lambda store: store.chmod(0o777), "every user can write to the data directory", id="shared folder"
        ),
        pytest.param(lambda store: (store / "cloud.db").chmod(0o644), "other users can open", id="open file"),
        pytest.param(_chown("cloud.db"), "another user owns cloud.db", id="files of another user", marks=ONLY_ROOT),
        pytest.param(_leave_behind, "was left by a killed command", id="left behind"),
        pytest.param(_remove("activity.db"), "does not exist", id="missing activity.db"),
        pytest.param(make_older, "cloud.db has revision 0002", id="older revision"),
        pytest.param(_sql("cloud", "PRAGMA journal_mode = DELETE"), "not WAL", id="journal mode"),
        pytest.param(_sql("cloud", "UPDATE totals SET items = items + 1"), "totals do not match", id="totals"),
        pytest.param(_sql("cloud", "DELETE FROM prices WHERE kind = 'volume'"), "× volume on", id="prices"),
        pytest.param(
            _sql("cloud", "UPDATE accounts SET disabled = 1 WHERE role = 'operator'"),
            "no operator can log in",
            id="disabled operators",
        ),
        pytest.param(
            lambda store: fail_logins(store, "demo", "192.0.2.7", now=time.time()), "logins of demo", id="throttle"
        ),
    ],
)
def test_the_command_fixes_the_store(patient: Patient, store: Path, harm: Callable[[Path], None], text: str) -> None:
    harm(store)
    patient.fixed_by_pasting(text)


@ONLY_ROOT
def test_the_command_takes_over_a_folder_with_its_files(patient: Patient, store: Path) -> None:
    _chown("", *(file.name for file in store.iterdir()))(store)
    patient.fixed_by_pasting("belongs to 4711")
    assert [finding for finding in patient.examined() if finding.check == "data directory"] == []


def test_the_command_creates_a_store_where_there_is_none(patient: Patient, store: Path) -> None:
    shutil.rmtree(store)
    patient.fixed_by_pasting("no directory", passwords=1)


def test_the_command_adds_the_first_account(patient: Patient, store: Path) -> None:
    execute(store, "cloud", "DELETE FROM accounts")
    patient.fixed_by_pasting("no accounts", passwords=1)


def test_the_command_adds_an_operator_where_there_is_none(patient: Patient, store: Path) -> None:
    execute(store, "cloud", "UPDATE accounts SET role = 'tenant'")
    patient.fixed_by_pasting("no operator can log in", passwords=1)


def test_the_command_changes_published_passwords(store: Path, tmp_path: Path) -> None:
    patient = Patient(tmp_path, data=store, port=0, host="0.0.0.0")
    patient.fixed_by_pasting("are public", passwords=3)


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA locking_mode = {sys.argv[2]}")
connection.execute("BEGIN IMMEDIATE")
connection.execute("CREATE TABLE held (a)")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_the_command_ends_the_process_that_locks_the_store(patient: Patient, store: Path, mode: str) -> None:
    command = [sys.executable, "-c", HOLD, str(store / "activity.db"), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            with pytest.raises(sqlite3.OperationalError), sqlite3.connect(store / "activity.db", timeout=0) as other:
                other.execute("DELETE FROM login_failures")
            advised = patient.fixed_by_pasting("is locked by")
            assert f"process {holder.pid}" in advised.text
            assert holder.wait(60) < 0
        finally:
            holder.kill()


def test_the_command_closes_a_readable_key(tmp_path: Path, store: Path) -> None:
    certificate, key = write_certificate(tmp_path, datetime(2100, 1, 1, tzinfo=UTC))
    key.chmod(0o644)
    patient = Patient(tmp_path, data=store, port=0, tls_certificate=certificate, tls_key=key)
    assert patient.fixed_by_pasting("other users have access to the private key").level == "problem"


def test_the_command_reloads_a_renewed_certificate(tmp_path: Path, store: Path) -> None:
    certificate, key = write_certificate(tmp_path, datetime.now(UTC) + timedelta(days=2))
    tls = {"tls_certificate": certificate, "tls_key": key}
    with socket.create_server(("127.0.0.1", 0)) as own:
        port = own.getsockname()[1]
    patient = Patient(tmp_path, data=store, port=port, **tls)
    with patient.pasted_server(patient.advice("no response from").command):
        # One of the file, one of what the console presents.
        assert [(found.check, found.command) for found in patient.examined()] == [
            ("certificate", ""),
            ("running console", ""),
        ]
        write_certificate(tmp_path, datetime(2100, 1, 1, tzinfo=UTC))
        patient.paste(patient.advice("its certificate expires on").command)
        until(lambda: not patient.examined())


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it does not come to be so")


@contextmanager
def other_program() -> Iterator[int]:
    """Serve files as another web server does, in a process of its own; give its port."""
    script = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
    script += "print(s.server_port, flush=True); s.serve_forever()"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def test_the_command_serves_beside_a_web_server_that_has_the_port(store: Path, tmp_path: Path) -> None:
    with other_program() as port:
        patient = Patient(tmp_path, data=store, port=port)
        advised = patient.advice("is in use by")
        assert (advised.level, "proxy" in advised.fix) == ("problem", False)
        with patient.pasted_server(advised.command):
            assert not patient.examined(port=advised.command.rpartition(" ")[2])


def test_the_command_serves_metrics_beside_a_program_that_has_the_port(store: Path, tmp_path: Path) -> None:
    with other_program() as taken, socket.create_server(("127.0.0.1", 0)) as own:
        port = own.getsockname()[1]
        own.close()
        patient = Patient(tmp_path, data=store, port=port, metrics=f"127.0.0.1:{taken}")
        advised = patient.advice("is in use by")
        assert (advised.check, advised.level) == ("metrics", "problem")
        with patient.pasted_server(advised.command):
            assert not patient.examined(metrics=advised.command.rpartition(" ")[2])

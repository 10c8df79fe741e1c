"""Fix commands of doctor, pasted into a shell: each fixes its problem."""

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
from tests.server.doctor.pasted_commands import DiagnosedConsole

pytestmark = [pytest.mark.embedded_only, pytest.mark.slow]

ONLY_ROOT = pytest.mark.skipif(
    os.getuid() != 0 and os.environ.get("CI") != "true", reason="only root can change file owners"
)
UNNAMED_USER = 4711
"""A user id without a name."""


@pytest.fixture
def store(data: Path, tmp_path: Path) -> Path:
    """Return the data directory, whose name must be quoted in a shell."""
    directory = tmp_path / "my console's data"
    shutil.move(data, directory)
    directory.chmod(0o700)
    return directory


@pytest.fixture
def console(store: Path, tmp_path: Path) -> DiagnosedConsole:
    config = tmp_path / "my console.toml"
    config.write_text("port = 0\n")
    return DiagnosedConsole(tmp_path, config=config, data=store)


def _remove(name: str) -> Callable[[Path], None]:
    return lambda store: (store / name).unlink()


def _chown(*names: str) -> Callable[[Path], None]:
    def chown(store: Path) -> None:
        for name in names:
            os.chown(store / name, UNNAMED_USER, UNNAMED_USER)

    return chown


def _leave_temporary_directory(store: Path) -> None:
    (store / ".restore-abc").mkdir()
    os.utime(store / ".restore-abc", (0, 0))


def _sql(part: str, statement: str) -> Callable[[Path], None]:
    return lambda store: execute(store, part, statement)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        pytest.param(lambda store: store.chmod(0o755), "other users can access", id="readable directory"),
        pytest.param(
            lambda store: store.chmod(0o777), "every user can write to the data directory", id="writable directory"
        ),
        pytest.param(lambda store: (store / "cloud.db").chmod(0o644), "other users can open", id="readable file"),
        pytest.param(_chown("cloud.db"), "another user owns cloud.db", id="files of another user", marks=ONLY_ROOT),
        pytest.param(_leave_temporary_directory, "was left by a killed command", id="leftover directory"),
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
def test_the_command_fixes_the_store(
    console: DiagnosedConsole, store: Path, damage: Callable[[Path], None], text: str
) -> None:
    damage(store)
    console.paste_fix(text)


@ONLY_ROOT
def test_the_command_takes_over_a_directory_and_its_files(console: DiagnosedConsole, store: Path) -> None:
    _chown("", *(file.name for file in store.iterdir()))(store)
    console.paste_fix("belongs to 4711")
    assert [finding for finding in console.findings() if finding.check == "data directory"] == []


def test_the_command_creates_a_missing_store(console: DiagnosedConsole, store: Path) -> None:
    shutil.rmtree(store)
    console.paste_fix("no directory", passwords=1)


def test_the_command_adds_the_first_account(console: DiagnosedConsole, store: Path) -> None:
    execute(store, "cloud", "DELETE FROM accounts")
    console.paste_fix("no accounts", passwords=1)


def test_the_command_adds_a_missing_operator(console: DiagnosedConsole, store: Path) -> None:
    execute(store, "cloud", "UPDATE accounts SET role = 'tenant'")
    console.paste_fix("no operator can log in", passwords=1)


def test_the_command_changes_sample_passwords(store: Path, tmp_path: Path) -> None:
    console = DiagnosedConsole(tmp_path, data=store, port=0, host="0.0.0.0")
    console.paste_fix("are public", passwords=3)


LOCK_SCRIPT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA locking_mode = {sys.argv[2]}")
connection.execute("BEGIN IMMEDIATE")
connection.execute("CREATE TABLE held (a)")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_the_command_ends_the_process_that_locks_the_store(console: DiagnosedConsole, store: Path, mode: str) -> None:
    command = [sys.executable, "-c", LOCK_SCRIPT, str(store / "activity.db"), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            with pytest.raises(sqlite3.OperationalError), sqlite3.connect(store / "activity.db", timeout=0) as other:
                other.execute("DELETE FROM login_failures")
            finding = console.paste_fix("is locked by")
            assert f"process {holder.pid}" in finding.text
            assert holder.wait(60) < 0
        finally:
            holder.kill()


def test_the_command_restricts_a_readable_key(tmp_path: Path, store: Path) -> None:
    certificate, key = write_certificate(tmp_path, datetime(2100, 1, 1, tzinfo=UTC))
    key.chmod(0o644)
    console = DiagnosedConsole(tmp_path, data=store, port=0, tls_certificate=certificate, tls_key=key)
    assert console.paste_fix("other users have access to the private key").level == "problem"


def test_the_command_reloads_a_renewed_certificate(tmp_path: Path, store: Path) -> None:
    certificate, key = write_certificate(tmp_path, datetime.now(UTC) + timedelta(days=2))
    tls = {"tls_certificate": certificate, "tls_key": key}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    console = DiagnosedConsole(tmp_path, data=store, port=port, **tls)
    with console.pasted_server(console.finding("no response from").command):
        # One for the file, one for the certificate that the console presents.
        assert [(found.check, found.command) for found in console.findings()] == [
            ("certificate", ""),
            ("running console", ""),
        ]
        write_certificate(tmp_path, datetime(2100, 1, 1, tzinfo=UTC))
        console.paste(console.finding("its certificate expires on").command)
        wait_until(lambda: not console.findings())


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("the condition did not become true")


@contextmanager
def other_server() -> Iterator[int]:
    """Run another web server in a subprocess; yield its port."""
    script = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
    script += "print(s.server_port, flush=True); s.serve_forever()"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def test_the_command_serves_on_another_port_beside_a_web_server(store: Path, tmp_path: Path) -> None:
    with other_server() as port:
        console = DiagnosedConsole(tmp_path, data=store, port=port)
        finding = console.finding("is in use by")
        assert (finding.level, "proxy" in finding.fix) == ("problem", False)
        with console.pasted_server(finding.command):
            assert not console.findings(port=finding.command.rpartition(" ")[2])


def test_the_command_serves_metrics_on_another_port(store: Path, tmp_path: Path) -> None:
    with other_server() as used_port, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.close()
        console = DiagnosedConsole(tmp_path, data=store, port=port, metrics=f"127.0.0.1:{used_port}")
        finding = console.finding("is in use by")
        assert (finding.check, finding.level) == ("metrics", "problem")
        with console.pasted_server(finding.command):
            assert not console.findings(metrics=finding.command.rpartition(" ")[2])

"""The running service: workers, signals, start-up refusals, files and logs."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

import pytest

from cloudconsole._version import __version__
from cloudconsole.operator import cloud_file
from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.config.settings import SETTINGS
from cloudconsole.store.sqlite.engine import open_engine, opened
from cloudconsole.store.sqlite.store import prepare
from tests.e2e.processes import (
    children_of,
    command,
    connection_to,
    eventually,
    is_running,
    log_lines,
    wire_worker,
    workers,
)
from tests.e2e.raw_http import raw_connection, request
from tests.fork_server import WarmProcess
from tests.harness import JSON, Caller, OverHttp, Reply, RunningServer, clean_environment, running_server

WORKERS = 3


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of several workers; its worker processes stay the same throughout."""
    with running_server(tmp_path_factory.mktemp("many"), "--workers", str(WORKERS)) as running:
        eventually(lambda: len(workers(running)) == WORKERS)
        yield running


@pytest.fixture
def to_each_worker(many: RunningServer) -> Iterator[list[OverHttp]]:
    """One connection to each worker of `many`."""
    with ExitStack() as stack:
        yield [stack.enter_context(connection_to(many, worker)) for worker in sorted(workers(many))]


def on(wire: OverHttp, caller: Caller) -> Caller:
    """The same caller, cookies and all, over another connection."""
    return Caller(wire, dict(caller.cookies))


def load(data: Path, file: Path) -> None:
    done = command("admin", "load", str(file), "--data", str(data))
    assert done.returncode == 0, done.stderr


def load_here(data: Path, file: Path) -> None:
    """The same from this process, where only its effect matters."""
    engine = open_engine(data, "cloud")
    cloud_file.load(engine, file, zone=UTC, now=int(time.time()), actor="tests")
    engine.dispose()


def changed_sample(folder: Path, old: str, new: str) -> Path:
    text = SAMPLE_FILE.read_text()
    assert text.count(old) == 1
    file = folder / "changed.yaml"
    file.write_text(text.replace(old, new))
    return file


class TestSeveralWorkers:
    def test_every_worker_serves(self, many: RunningServer, to_each_worker: list[OverHttp]) -> None:
        assert {wire_worker(many, wire) for wire in to_each_worker} == workers(many)
        assert len(to_each_worker) == WORKERS

    def test_a_session_holds_on_every_worker(self, to_each_worker: list[OverHttp]) -> None:
        caller = Caller(to_each_worker[0])
        assert caller.login().status == 200
        assert [on(wire, caller).call("GetNews").status for wire in to_each_worker] == [200] * WORKERS

    def test_failed_logins_are_counted_exactly(self, many: RunningServer) -> None:
        start = threading.Barrier(40)

        def attempt(_: int) -> int:
            wire = OverHttp(many.base)
            caller = Caller(wire)
            caller.open()
            start.wait(timeout=60)
            status = caller.login("guessed-by-many", "wrong").status
            wire.close()
            return status

        with ThreadPoolExecutor(40) as pool:
            assert Counter(pool.map(attempt, range(40))) == {401: 10, 429: 30}

    def test_a_logout_is_seen_by_every_worker_at_the_next_call(self, to_each_worker: list[OverHttp]) -> None:
        for ending in to_each_worker:
            caller = Caller(ending)
            assert caller.login().status == 200
            others = [on(wire, caller) for wire in to_each_worker]
            assert [other.call("GetNews").status for other in others] == [200] * WORKERS
            assert caller.logout().status == 200
            assert [other.call("GetNews").status for other in others] == [401] * WORKERS

    def test_a_disabled_account_is_out_on_every_worker_at_the_next_call(
        self, many: RunningServer, to_each_worker: list[OverHttp], tmp_path: Path
    ) -> None:
        callers = [Caller(wire) for wire in to_each_worker]
        assert [caller.login("other", "console-other").status for caller in callers] == [200] * WORKERS
        disabled = changed_sample(
            tmp_path, "{username: other, role: tenant,", "{username: other, role: tenant, disabled: true,"
        )
        data = many.log_file.parent / "data"
        load(data, disabled)
        try:
            assert [caller.call("GetNews").error for caller in callers] == ["login_required"] * WORKERS
            assert callers[0].login("other", "console-other").error == "invalid_credentials"
        finally:
            load_here(data, SAMPLE_FILE)

    def test_a_load_is_seen_by_every_worker_at_the_next_call(
        self, many: RunningServer, to_each_worker: list[OverHttp], tmp_path: Path
    ) -> None:
        first = Caller(to_each_worker[0])
        assert first.login().status == 200
        callers = [on(wire, first) for wire in to_each_worker for _ in range(3)]
        data = many.log_file.parent / "data"
        try:
            for title in ("first change", "第二次"):
                load(data, changed_sample(tmp_path, "云控制台正式上线", title))
                assert {caller.call("GetNews").data[-1]["title"] for caller in callers} == {title}
        finally:
            load_here(data, SAMPLE_FILE)

    def test_a_killed_worker_is_replaced(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--workers", "2") as server:
            before = eventually(lambda: workers(server) if len(workers(server)) == 2 else None)
            victim = min(before)
            os.kill(victim, signal.SIGKILL)
            (new,) = eventually(lambda: workers(server) - before)
            with connection_to(server, new) as wire:
                assert Caller(wire).login().status == 200
            assert victim not in workers(server)

    def test_workers_end_when_their_parent_is_killed(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--workers", "2") as server:
            orphans = eventually(lambda: workers(server) if len(workers(server)) == 2 else None)
            server.process.kill()
            server.process.wait()
            eventually(lambda: not any(is_running(worker) for worker in orphans))
            with pytest.raises(ConnectionError):
                server.connect()


def call_once(server: RunningServer) -> Reply | None:
    """One call on a connection of its own; None where no connection was had."""
    wire = OverHttp(server.base)
    try:
        return wire.send("GET", "/api/", [])
    except (ConnectionError, HTTPException):
        return None
    finally:
        wire.close()


class TestStopping:
    @pytest.mark.parametrize("count", [1, WORKERS])
    @pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
    def test_what_is_under_way_finishes_and_what_is_new_is_told_to_come_again(
        self, tmp_path: Path, count: int, sig: signal.Signals
    ) -> None:
        body = b'{"action": "GetFlavors"}'
        with running_server(tmp_path, "--workers", str(count)) as server, raw_connection(server) as under_way:
            wire = OverHttp(server.base)
            caller = Caller(wire)
            assert caller.login().status == 200
            wire.close()
            cookies = "; ".join(f"{name}={value}" for name, value in caller.cookies.items())
            headers = [("Cookie", cookies), ("X-CSRFToken", caller.token), ("Content-Type", JSON)]
            # The 100 tells that the call has begun and its body is waited for.
            under_way.send(
                request("POST", "/api/", [*headers, ("Content-Length", str(len(body))), ("Expect", "100-continue")])
            )
            assert under_way.answer().status == 100

            server.process.send_signal(sig)

            refused = eventually(lambda: (reply := call_once(server)) and reply.status == 503 and reply)
            assert isinstance(refused, Reply)
            assert refused.error == "unavailable"
            assert int(refused.header("retry-after") or 0) > 0
            assert refused.header("connection") == "close"
            for _ in range(10):
                later = call_once(server)
                assert later is not None
                assert later.status == 503
            under_way.send(body)
            assert len(under_way.answer().data["flavors"]) > 1
            assert server.process.wait(timeout=60) == 0

    @pytest.mark.parametrize("count", [1, WORKERS])
    def test_idle_connections_hold_nothing_up(self, tmp_path: Path, count: int) -> None:
        with running_server(tmp_path, "--workers", str(count)) as server, raw_connection(server) as idle:
            idle.send(request("GET", "/api/"))
            assert idle.answer().status == 200
            with raw_connection(server):
                assert server.stop() == 0

    def test_a_call_that_never_ends_is_cut_off_after_the_grace(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--stop-grace", "1") as server, raw_connection(server) as endless:
            endless.send(request("POST", "/api/", [("Content-Length", "5"), ("Expect", "100-continue")]))
            assert endless.answer().status == 100
            assert server.stop() == 0


@contextmanager
def starting(folder: Path, *flags: str) -> Iterator[WarmProcess]:
    """A server in a process group of its own that has just said where it is, and perhaps no more than that."""
    arguments = ["serve", "--port", "0", "--data", str(folder / "data"), *flags]
    process = WarmProcess(arguments, clean_environment(), stdout=subprocess.PIPE, own_session=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("Cloud Console serves on ")
        yield process
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


SIGNALLED_IN_A_FINALIZER = """
import os
from cloudconsole.cli.entry import main
from cloudconsole.server.runtime import worker

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), {sig})

class Console(worker.Console):
    def __init__(self, *args, **kwargs):
        Finalized()
        super().__init__(*args, **kwargs)

worker.Console = Console
raise SystemExit(main())
"""


class TestStoppingEarly:
    """With a grace so long that a worker which missed the signal would never end."""

    def test_while_workers_are_being_started(self, tmp_path: Path) -> None:
        for _ in range(3):
            with starting(tmp_path, "--workers", "8", "--stop-grace", "3600") as process:
                process.terminate()
                assert process.wait(timeout=60) in (0, -signal.SIGTERM)

    @pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
    def test_within_a_finalizer_where_no_exception_gets_out(self, tmp_path: Path, sig: signal.Signals) -> None:
        done = subprocess.run(
            [sys.executable, "-c", SIGNALLED_IN_A_FINALIZER.format(sig=sig.value), "serve", "--port", "0"],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0
        assert f"stopped by {sig.name}: all requests finished" in done.stderr

    def test_by_an_interrupt_of_the_whole_group(self, tmp_path: Path) -> None:
        with starting(tmp_path, "--workers", "2", "--stop-grace", "3600") as process:
            eventually(lambda: len(children_of(process.pid)) == 2)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=60) == 0


class Restarted(NamedTuple):
    port_before: int
    caller: Caller
    server: RunningServer


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    """A server started again on its port right after it stopped, with a caller who had logged in before."""
    folder = tmp_path_factory.mktemp("restarted")
    with running_server(folder) as server, raw_connection(server) as connected:
        connected.send(request("GET", "/api/"))
        assert connected.answer().status == 200
        wire = OverHttp(server.base)
        caller = Caller(wire)
        assert caller.login().status == 200
        wire.close()
        port = server.port
        assert server.stop() == 0
    with running_server(folder, "--port", str(port)) as server:
        yield Restarted(port, caller, server)


class TestRestart:
    def test_the_port_can_be_taken_again_at_once(self, restarted: Restarted) -> None:
        assert restarted.server.port == restarted.port_before

    def test_sessions_outlast_it(self, restarted: Restarted) -> None:
        wire = OverHttp(restarted.server.base)
        assert on(wire, restarted.caller).call("GetNews").status == 200
        wire.close()


def assert_one_line(arguments: list[str], *mentions: str, **environment: str) -> None:
    """The command refuses in one line on standard error that mentions these, with exit code 1."""
    done = command(*arguments, **environment)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("cloudconsole: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for mention in mentions:
        assert mention in done.stderr


class TestRefusedStarts:
    def test_port_taken(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            assert_one_line(["serve", "--port", port, "--data", str(tmp_path / "data")], port, "another port")

    @pytest.mark.parametrize(
        ("flag", "value"),
        [
            ("--port", "65536"),
            ("--port", "http"),
            ("--time-zone", "Mars/Olympus"),
            ("--time-zone", "../../etc/passwd"),
        ],
    )
    def test_bad_value(self, tmp_path: Path, flag: str, value: str) -> None:
        assert_one_line(["serve", "--data", str(tmp_path / "data"), flag, value], flag)

    def test_data_is_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "data"
        file.write_text("not a folder")
        assert_one_line(["serve", "--data", str(file)], "--data", f"{file} is a file", "directory")
        assert file.read_text() == "not a folder"

    def test_data_is_under_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert_one_line(["serve", "--data", str(tmp_path / "file" / "data"), "--port", "0"], "data")

    @pytest.mark.parametrize("part", ["cloud", "activity"])
    def test_a_store_that_is_none(self, tmp_path: Path, part: str) -> None:
        data = tmp_path / "data"
        data.mkdir()
        (data / f"{part}.db").write_bytes(b"this is no database, it only has its name" * 100)
        assert_one_line(["serve", "--data", str(data), "--port", "0"], str(data))

    def test_unknown_variable(self, tmp_path: Path) -> None:
        assert_one_line(["serve", "--data", str(tmp_path / "data")], "CLOUDCONSOLE_PROT", CLOUDCONSOLE_PROT="1")

    def test_bad_variable(self, tmp_path: Path) -> None:
        assert_one_line(["serve", "--data", str(tmp_path / "data")], "CLOUDCONSOLE_PORT", CLOUDCONSOLE_PORT="x")

    @pytest.mark.parametrize(
        "flags",
        [
            ("--host", "0.0.0.0"),
            ("--host", "::"),
            ("--public-origin", "https://console.example.com"),
            ("--hosts", "console.example.com"),
        ],
    )
    def test_the_sample_is_not_served_beyond_this_machine(self, tmp_path: Path, flags: tuple[str, str]) -> None:
        start = ["serve", "--sample", "--port", "0", "--data", str(tmp_path / "data"), *flags]
        assert_one_line(start, "--insecure-sample")

    def test_a_sample_loaded_earlier_is_not_served_beyond_this_machine(self, data: Path) -> None:
        assert_one_line(["serve", "--port", "0", "--data", str(data), "--host", "0.0.0.0"], "--insecure-sample")

    def test_the_sample_is_served_beyond_this_machine_when_told_so(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--host", "0.0.0.0", "--insecure-sample") as server:
            wire = OverHttp(server.base)
            assert Caller(wire).login().status == 200
            wire.close()


class TestStore:
    def test_sample_is_not_loaded_over_content(self, tmp_path: Path) -> None:
        prepare(tmp_path / "data")
        load_here(tmp_path / "data", changed_sample(tmp_path, "云控制台正式上线", "mine"))
        with running_server(tmp_path) as server:
            wire = OverHttp(server.base)
            caller = Caller(wire)
            assert caller.login().status == 200
            assert caller.call("GetNews").data[-1]["title"] == "mine"
            wire.close()

    def test_its_folder_may_have_any_name(self, tmp_path: Path) -> None:
        folder = tmp_path / "what? a#b %20 é;x=1"
        folder.mkdir()
        with running_server(folder, is_first=True) as server:
            wire = OverHttp(server.base)
            assert Caller(wire).login().status == 200
            wire.close()
        assert {"cloud.db", "activity.db"} <= {path.name for path in (folder / "data").iterdir()}

    def test_without_sample_nobody_can_log_in_and_no_session_is_shown(self, tmp_path: Path) -> None:
        with running_server(tmp_path, sample=False) as server:
            wire = OverHttp(server.base)
            assert Caller(wire).login().error == "invalid_credentials"
            wire.close()
            assert "console-demo" not in server.banner
            assert "curl" not in server.banner
            assert "has no accounts" in server.banner

    def test_only_accounts_that_have_the_samples_password_are_shown(self, tmp_path: Path) -> None:
        prepare(tmp_path / "data")
        (tmp_path / "secret").write_text("changed secret")
        hash_line = next(line for line in SAMPLE_FILE.read_text().splitlines() if "username: demo" in line)
        load_here(
            tmp_path / "data", changed_sample(tmp_path, hash_line, "      - {username: demo, password_file: secret}")
        )
        with running_server(tmp_path) as server:
            assert "console-demo" not in server.banner
            assert "other / console-other" in server.banner
            assert "username=other -d password=console-other" in server.banner

    def test_accounts_of_a_disabled_tenant_are_not_shown(self, tmp_path: Path) -> None:
        prepare(tmp_path / "data")
        load_here(tmp_path / "data", SAMPLE_FILE)
        with opened(tmp_path / "data", "cloud") as engine, operator_transaction(engine, actor="tests", now=0) as desk:
            TENANTS.disable(desk, "demo")
        with running_server(tmp_path) as server:
            assert "console-demo" not in server.banner
            assert "other / console-other" in server.banner

    def test_is_for_its_owner_alone(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            with running_server(tmp_path, is_first=True) as server:
                wire = OverHttp(server.base)
                assert Caller(wire).login().status == 200
                wire.close()
                folder = tmp_path / "data"
                modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        finally:
            os.umask(before)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {"cloud.db", "activity.db", "activity.db-wal"} <= set(modes)
        assert set(modes.values()) == {0o600}, modes


class TestLog:
    def test_carries_the_request_id_of_a_call(self, server: RunningServer, remote: OverHttp) -> None:
        remote.send("GET", "/api/", [("X-Request-ID", "find-me-again.1")])
        lines = [line for line in log_lines(server) if line["request_id"] == "find-me-again.1"]
        assert lines
        assert all(line["path"] == "/api/" for line in lines)

    def test_carries_a_made_up_id_too(self, server: RunningServer, remote: OverHttp) -> None:
        given = remote.send("GET", "/nowhere/", [("X-Request-ID", "no good")]).header("x-request-id")
        assert given in {line["request_id"] for line in log_lines(server)}

    def test_has_no_secret(self, server: RunningServer, remote: OverHttp) -> None:
        caller = Caller(remote)
        caller.open()
        anonymous = dict(caller.cookies)
        assert caller.login("demo", "a-wrong-password").status == 401
        assert caller.login().status == 200
        log = server.log()
        for secret in (*caller.cookies.values(), *anonymous.values(), "console-demo", "a-wrong-password"):
            assert secret not in log

    def test_a_line_cannot_be_forged(self, server: RunningServer, remote: OverHttp) -> None:
        remote.send("GET", "/%0a2026-01-01T00:00:00Z%20INFO%20forged", [])
        assert not any(line.startswith("2026-01-01T00:00:00Z INFO forged") for line in server.log().splitlines())
        assert "/\n2026-01-01T00:00:00Z INFO forged" in {line.get("path") for line in log_lines(server)}

    def test_can_do_without_a_line_for_every_call(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--access-log", "false") as server:
            wire = OverHttp(server.base)
            wire.send("GET", "/api/", [("X-Request-ID", "unseen")])
            wire.close()
            assert "unseen" not in server.log()


class TestSettingsFile:
    def test_stands_between_defaults_and_flags(self, tmp_path: Path) -> None:
        file = tmp_path / "console.toml"
        file.write_text('port = 1\ncurrency = "EUR"\n[[identity]]\naddress = "https://identity.example.com/v3"\n')
        with running_server(tmp_path, "--config", str(file)) as server:
            assert "login region: https://identity.example.com/v3\n" in server.banner
            wire = OverHttp(server.base)
            assert wire.send("GET", "/api/", []).data["currency"] == "EUR"
            wire.close()

    def test_every_wrong_setting_has_a_line(self, tmp_path: Path) -> None:
        file = tmp_path / "console.toml"
        file.write_text('workers = "2"\nprot = 8000\n')
        done = command("serve", "--config", str(file), "--max-body", "1", CLOUDCONSOLE_CURRENCY="yuan")
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.splitlines() == [
            f"cloudconsole: {file}: workers: must be a whole number from 1 to 64",
            f"cloudconsole: {file}: prot: unknown setting; did you mean port? (see cloudconsole serve --help)",
            "cloudconsole: CLOUDCONSOLE_CURRENCY: must be an ISO 4217 code, such as CNY or USD",
            "cloudconsole: --max-body: must be a whole number from 1024 to 1048576",
        ]

    def test_the_one_that_is_printed_starts_a_console(self, tmp_path: Path) -> None:
        done = command("serve", "--print-config")
        assert (done.returncode, done.stderr) == (0, "")
        file = tmp_path / "console.toml"
        file.write_text(done.stdout)
        with running_server(tmp_path, "--config", str(file)) as server:
            assert server.base.startswith("http://127.0.0.1:")


class TestCommandLine:
    def test_version(self) -> None:
        done = command("--version")
        assert (done.returncode, done.stdout) == (0, f"cloudconsole {__version__}\n")

    @pytest.mark.parametrize("arguments", [["--help"], []])
    def test_help_lists_the_commands(self, arguments: list[str]) -> None:
        done = command(*arguments)
        assert done.returncode == 0
        assert "serve" in done.stdout
        assert "admin" in done.stdout

    @pytest.mark.parametrize("arguments", [["sevre"], ["--no-such-flag"], ["serve", "--no-such-flag"], ["serve", "x"]])
    def test_what_it_does_not_know_ends_with_2(self, arguments: list[str]) -> None:
        done = command(*arguments)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "see cloudconsole" in done.stderr

    def test_help_of_serve_lists_every_setting(self) -> None:
        done = command("serve", "--help", COLUMNS="500")
        assert done.returncode == 0
        for setting in SETTINGS.values():
            assert f"{setting.flag} " in done.stdout
            assert setting.help in done.stdout
            assert setting.kind.metavar in done.stdout
            assert f"\n{setting.group}:\n" in done.stdout

    def test_help_of_serve_fits_a_terminal_of_80_columns(self) -> None:
        assert max(map(len, command("serve", "--help", COLUMNS="80").stdout.splitlines())) <= 80

    def test_a_flag_goes_before_a_variable(self, tmp_path: Path) -> None:
        done = command("serve", "--data", str(tmp_path), "--port", "1000000", CLOUDCONSOLE_PORT="0")
        assert done.stderr.startswith("cloudconsole: --port: ")

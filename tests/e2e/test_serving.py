"""The running service: workers, signals, startup errors, files and logs."""

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
from tests.fork_server import ForkedProcess
from tests.harness import JSON, ApiClient, HttpTransport, Reply, RunningServer, clean_environment, running_server

WORKERS = 3


@pytest.fixture(scope="module")
def multi_worker_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with several workers; its worker processes stay the same throughout."""
    with running_server(tmp_path_factory.mktemp("multi_worker_server"), "--workers", str(WORKERS)) as running:
        eventually(lambda: len(workers(running)) == WORKERS)
        yield running


@pytest.fixture
def worker_connections(multi_worker_server: RunningServer) -> Iterator[list[HttpTransport]]:
    """One connection to each worker of `multi_worker_server`."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(connection_to(multi_worker_server, worker))
            for worker in sorted(workers(multi_worker_server))
        ]


def on(transport: HttpTransport, client: ApiClient) -> ApiClient:
    """Return the same client, with its cookies, over another connection."""
    return ApiClient(transport, dict(client.cookies))


def load(data: Path, file: Path) -> None:
    done = command("admin", "load", str(file), "--data", str(data))
    assert done.returncode == 0, done.stderr


def load_in_process(data: Path, file: Path) -> None:
    """Load a cloud file from this process, where only the result matters."""
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
    def test_every_worker_serves_requests(
        self, multi_worker_server: RunningServer, worker_connections: list[HttpTransport]
    ) -> None:
        assert {wire_worker(multi_worker_server, transport) for transport in worker_connections} == workers(
            multi_worker_server
        )
        assert len(worker_connections) == WORKERS

    def test_session_is_valid_on_every_worker(self, worker_connections: list[HttpTransport]) -> None:
        client = ApiClient(worker_connections[0])
        assert client.login().status == 200
        assert [on(transport, client).call("GetNews").status for transport in worker_connections] == [200] * WORKERS

    def test_failed_logins_are_counted_across_workers(self, multi_worker_server: RunningServer) -> None:
        start = threading.Barrier(40)

        def attempt(_: int) -> int:
            transport = HttpTransport(multi_worker_server.base)
            client = ApiClient(transport)
            client.open()
            start.wait(timeout=60)
            status = client.login("guessed-by-many", "wrong").status
            transport.close()
            return status

        with ThreadPoolExecutor(40) as pool:
            assert Counter(pool.map(attempt, range(40))) == {401: 10, 429: 30}

    def test_logout_applies_to_every_worker_at_once(self, worker_connections: list[HttpTransport]) -> None:
        for ending_wire in worker_connections:
            client = ApiClient(ending_wire)
            assert client.login().status == 200
            others = [on(transport, client) for transport in worker_connections]
            assert [other.call("GetNews").status for other in others] == [200] * WORKERS
            assert client.logout().status == 200
            assert [other.call("GetNews").status for other in others] == [401] * WORKERS

    def test_disabled_account_is_rejected_by_every_worker_at_once(
        self, multi_worker_server: RunningServer, worker_connections: list[HttpTransport], tmp_path: Path
    ) -> None:
        clients = [ApiClient(transport) for transport in worker_connections]
        assert [client.login("other", "console-other").status for client in clients] == [200] * WORKERS
        disabled = changed_sample(
            tmp_path, "{username: other, role: tenant,", "{username: other, role: tenant, disabled: true,"
        )
        data = multi_worker_server.log_file.parent / "data"
        load(data, disabled)
        try:
            assert [client.call("GetNews").error for client in clients] == ["login_required"] * WORKERS
            assert clients[0].login("other", "console-other").error == "invalid_credentials"
        finally:
            load_in_process(data, SAMPLE_FILE)

    def test_loaded_cloud_file_is_served_by_every_worker_at_once(
        self, multi_worker_server: RunningServer, worker_connections: list[HttpTransport], tmp_path: Path
    ) -> None:
        first = ApiClient(worker_connections[0])
        assert first.login().status == 200
        clients = [on(transport, first) for transport in worker_connections for _ in range(3)]
        data = multi_worker_server.log_file.parent / "data"
        try:
            for title in ("first change", "第二次"):
                load(data, changed_sample(tmp_path, "云控制台正式上线", title))
                assert {client.call("GetNews").data[-1]["title"] for client in clients} == {title}
        finally:
            load_in_process(data, SAMPLE_FILE)

    def test_killed_worker_is_replaced(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--workers", "2") as server:
            before = eventually(lambda: workers(server) if len(workers(server)) == 2 else None)
            victim = min(before)
            os.kill(victim, signal.SIGKILL)
            (new,) = eventually(lambda: workers(server) - before)
            with connection_to(server, new) as transport:
                assert ApiClient(transport).login().status == 200
            assert victim not in workers(server)

    def test_workers_exit_when_their_parent_is_killed(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--workers", "2") as server:
            orphans = eventually(lambda: workers(server) if len(workers(server)) == 2 else None)
            server.process.kill()
            server.process.wait()
            eventually(lambda: not any(is_running(worker) for worker in orphans))
            with pytest.raises(ConnectionError):
                server.connect()


def request_once(server: RunningServer) -> Reply | None:
    """Send a request on a new connection; return None if it could not be established."""
    transport = HttpTransport(server.base)
    try:
        return transport.send("GET", "/api/", [])
    except (ConnectionError, HTTPException):
        return None
    finally:
        transport.close()


class TestStopping:
    @pytest.mark.parametrize("count", [1, WORKERS])
    @pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
    def test_running_requests_finish_and_new_ones_get_503(
        self, tmp_path: Path, count: int, sig: signal.Signals
    ) -> None:
        body = b'{"action": "GetFlavors"}'
        with running_server(tmp_path, "--workers", str(count)) as server, raw_connection(server) as in_progress:
            transport = HttpTransport(server.base)
            client = ApiClient(transport)
            assert client.login().status == 200
            transport.close()
            cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            headers = [("Cookie", cookies), ("X-CSRFToken", client.token), ("Content-Type", JSON)]
            # The 100 shows that the request has started and the server waits for its body.
            in_progress.send(
                request("POST", "/api/", [*headers, ("Content-Length", str(len(body))), ("Expect", "100-continue")])
            )
            assert in_progress.answer().status == 100

            server.process.send_signal(sig)

            rejected = eventually(lambda: (reply := request_once(server)) and reply.status == 503 and reply)
            assert isinstance(rejected, Reply)
            assert rejected.error == "unavailable"
            assert int(rejected.header("retry-after") or 0) > 0
            assert rejected.header("connection") == "close"
            for _ in range(10):
                later = request_once(server)
                assert later is not None
                assert later.status == 503
            in_progress.send(body)
            assert len(in_progress.answer().data["flavors"]) > 1
            assert server.process.wait(timeout=60) == 0

    @pytest.mark.parametrize("count", [1, WORKERS])
    def test_idle_connections_do_not_delay_the_stop(self, tmp_path: Path, count: int) -> None:
        with running_server(tmp_path, "--workers", str(count)) as server, raw_connection(server) as idle:
            idle.send(request("GET", "/api/"))
            assert idle.answer().status == 200
            with raw_connection(server):
                assert server.stop() == 0

    def test_unfinished_request_is_aborted_after_the_grace_period(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--stop-grace", "1") as server, raw_connection(server) as unfinished:
            unfinished.send(request("POST", "/api/", [("Content-Length", "5"), ("Expect", "100-continue")]))
            assert unfinished.answer().status == 100
            assert server.stop() == 0


@contextmanager
def announced_server(folder: Path, *flags: str) -> Iterator[ForkedProcess]:
    """A server in its own process group that has just printed its address and may still be starting."""
    arguments = ["serve", "--port", "0", "--data", str(folder / "data"), *flags]
    process = ForkedProcess(arguments, clean_environment(), stdout=subprocess.PIPE, own_session=True)
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
    """The grace period is so long that a worker that missed the signal would never exit."""

    def test_stops_while_workers_are_starting(self, tmp_path: Path) -> None:
        for _ in range(3):
            with announced_server(tmp_path, "--workers", "8", "--stop-grace", "3600") as process:
                process.terminate()
                assert process.wait(timeout=60) in (0, -signal.SIGTERM)

    @pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
    def test_stops_on_a_signal_inside_a_finalizer(self, tmp_path: Path, sig: signal.Signals) -> None:
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

    def test_stops_on_sigint_to_the_process_group(self, tmp_path: Path) -> None:
        with announced_server(tmp_path, "--workers", "2", "--stop-grace", "3600") as process:
            eventually(lambda: len(children_of(process.pid)) == 2)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=60) == 0


class Restarted(NamedTuple):
    port_before: int
    client: ApiClient
    server: RunningServer


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    """A server restarted on its port right after it stopped, with a client that logged in before."""
    folder = tmp_path_factory.mktemp("restarted")
    with running_server(folder) as server, raw_connection(server) as connected:
        connected.send(request("GET", "/api/"))
        assert connected.answer().status == 200
        transport = HttpTransport(server.base)
        client = ApiClient(transport)
        assert client.login().status == 200
        transport.close()
        port = server.port
        assert server.stop() == 0
    with running_server(folder, "--port", str(port)) as server:
        yield Restarted(port, client, server)


class TestRestart:
    def test_port_can_be_reused_immediately(self, restarted: Restarted) -> None:
        assert restarted.server.port == restarted.port_before

    def test_sessions_survive_a_restart(self, restarted: Restarted) -> None:
        transport = HttpTransport(restarted.server.base)
        assert on(transport, restarted.client).call("GetNews").status == 200
        transport.close()


def assert_startup_error(arguments: list[str], *mentions: str, **environment: str) -> None:
    """Check that the command exits with 1 and prints one line on standard error that contains `mentions`."""
    done = command(*arguments, **environment)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("cloudconsole: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for mention in mentions:
        assert mention in done.stderr


class TestStartupErrors:
    def test_port_in_use(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            assert_startup_error(["serve", "--port", port, "--data", str(tmp_path / "data")], port, "another port")

    @pytest.mark.parametrize(
        ("flag", "value"),
        [
            ("--port", "65536"),
            ("--port", "http"),
            ("--time-zone", "Mars/Olympus"),
            ("--time-zone", "../../etc/passwd"),
        ],
    )
    def test_invalid_flag_value(self, tmp_path: Path, flag: str, value: str) -> None:
        assert_startup_error(["serve", "--data", str(tmp_path / "data"), flag, value], flag)

    def test_data_is_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "data"
        file.write_text("not a folder")
        assert_startup_error(["serve", "--data", str(file)], "--data", f"{file} is a file", "directory")
        assert file.read_text() == "not a folder"

    def test_parent_of_data_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert_startup_error(["serve", "--data", str(tmp_path / "file" / "data"), "--port", "0"], "data")

    @pytest.mark.parametrize("part", ["cloud", "activity"])
    def test_database_file_is_invalid(self, tmp_path: Path, part: str) -> None:
        data = tmp_path / "data"
        data.mkdir()
        (data / f"{part}.db").write_bytes(b"this is no database, it only has its name" * 100)
        assert_startup_error(["serve", "--data", str(data), "--port", "0"], str(data))

    def test_unknown_variable(self, tmp_path: Path) -> None:
        assert_startup_error(["serve", "--data", str(tmp_path / "data")], "CLOUDCONSOLE_PROT", CLOUDCONSOLE_PROT="1")

    def test_invalid_variable(self, tmp_path: Path) -> None:
        assert_startup_error(["serve", "--data", str(tmp_path / "data")], "CLOUDCONSOLE_PORT", CLOUDCONSOLE_PORT="x")

    @pytest.mark.parametrize(
        "flags",
        [
            ("--host", "0.0.0.0"),
            ("--host", "::"),
            ("--public-origin", "https://console.example.com"),
            ("--hosts", "console.example.com"),
        ],
    )
    def test_sample_is_served_on_loopback_only(self, tmp_path: Path, flags: tuple[str, str]) -> None:
        start = ["serve", "--sample", "--port", "0", "--data", str(tmp_path / "data"), *flags]
        assert_startup_error(start, "--insecure-sample")

    def test_sample_loaded_earlier_is_served_on_loopback_only(self, data: Path) -> None:
        assert_startup_error(["serve", "--port", "0", "--data", str(data), "--host", "0.0.0.0"], "--insecure-sample")

    def test_insecure_sample_allows_other_addresses(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--host", "0.0.0.0", "--insecure-sample") as server:
            transport = HttpTransport(server.base)
            assert ApiClient(transport).login().status == 200
            transport.close()


class TestStore:
    def test_sample_does_not_replace_existing_data(self, tmp_path: Path) -> None:
        prepare(tmp_path / "data")
        load_in_process(tmp_path / "data", changed_sample(tmp_path, "云控制台正式上线", "mine"))
        with running_server(tmp_path) as server:
            transport = HttpTransport(server.base)
            client = ApiClient(transport)
            assert client.login().status == 200
            assert client.call("GetNews").data[-1]["title"] == "mine"
            transport.close()

    def test_directory_may_have_any_name(self, tmp_path: Path) -> None:
        folder = tmp_path / "what? a#b %20 é;x=1"
        folder.mkdir()
        with running_server(folder, is_first=True) as server:
            transport = HttpTransport(server.base)
            assert ApiClient(transport).login().status == 200
            transport.close()
        assert {"cloud.db", "activity.db"} <= {path.name for path in (folder / "data").iterdir()}

    def test_without_sample_there_are_no_accounts_to_show(self, tmp_path: Path) -> None:
        with running_server(tmp_path, sample=False) as server:
            transport = HttpTransport(server.base)
            assert ApiClient(transport).login().error == "invalid_credentials"
            transport.close()
            assert "console-demo" not in server.banner
            assert "curl" not in server.banner
            assert "has no accounts" in server.banner

    def test_only_accounts_with_the_sample_password_are_shown(self, tmp_path: Path) -> None:
        prepare(tmp_path / "data")
        (tmp_path / "secret").write_text("changed secret")
        hash_line = next(line for line in SAMPLE_FILE.read_text().splitlines() if "username: demo" in line)
        load_in_process(
            tmp_path / "data", changed_sample(tmp_path, hash_line, "      - {username: demo, password_file: secret}")
        )
        with running_server(tmp_path) as server:
            assert "console-demo" not in server.banner
            assert "other / console-other" in server.banner
            assert "username=other -d password=console-other" in server.banner

    def test_accounts_of_a_disabled_tenant_are_not_shown(self, tmp_path: Path) -> None:
        prepare(tmp_path / "data")
        load_in_process(tmp_path / "data", SAMPLE_FILE)
        with (
            opened(tmp_path / "data", "cloud") as engine,
            operator_transaction(engine, actor="tests", now=0) as transaction,
        ):
            TENANTS.disable(transaction, "demo")
        with running_server(tmp_path) as server:
            assert "console-demo" not in server.banner
            assert "other / console-other" in server.banner

    def test_files_are_accessible_to_their_owner_only(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            with running_server(tmp_path, is_first=True) as server:
                transport = HttpTransport(server.base)
                assert ApiClient(transport).login().status == 200
                transport.close()
                folder = tmp_path / "data"
                modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        finally:
            os.umask(before)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {"cloud.db", "activity.db", "activity.db-wal"} <= set(modes)
        assert set(modes.values()) == {0o600}, modes


class TestLog:
    def test_request_id_is_logged(self, server: RunningServer, remote: HttpTransport) -> None:
        remote.send("GET", "/api/", [("X-Request-ID", "find-me-again.1")])
        lines = [line for line in log_lines(server) if line["request_id"] == "find-me-again.1"]
        assert lines
        assert all(line["path"] == "/api/" for line in lines)

    def test_generated_request_id_is_logged(self, server: RunningServer, remote: HttpTransport) -> None:
        generated = remote.send("GET", "/nowhere/", [("X-Request-ID", "no good")]).header("x-request-id")
        assert generated in {line["request_id"] for line in log_lines(server)}

    def test_secrets_are_not_logged(self, server: RunningServer, remote: HttpTransport) -> None:
        client = ApiClient(remote)
        client.open()
        anonymous = dict(client.cookies)
        assert client.login("demo", "a-wrong-password").status == 401
        assert client.login().status == 200
        log = server.log()
        for secret in (*client.cookies.values(), *anonymous.values(), "console-demo", "a-wrong-password"):
            assert secret not in log

    def test_log_lines_cannot_be_forged(self, server: RunningServer, remote: HttpTransport) -> None:
        remote.send("GET", "/%0a2026-01-01T00:00:00Z%20INFO%20forged", [])
        assert not any(line.startswith("2026-01-01T00:00:00Z INFO forged") for line in server.log().splitlines())
        assert "/\n2026-01-01T00:00:00Z INFO forged" in {line.get("path") for line in log_lines(server)}

    def test_access_log_can_be_disabled(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--access-log", "false") as server:
            transport = HttpTransport(server.base)
            transport.send("GET", "/api/", [("X-Request-ID", "unseen")])
            transport.close()
            assert "unseen" not in server.log()


class TestSettingsFile:
    def test_file_overrides_defaults_and_flags_override_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "console.toml"
        file.write_text('port = 1\ncurrency = "EUR"\n[[identity]]\naddress = "https://identity.example.com/v3"\n')
        with running_server(tmp_path, "--config", str(file)) as server:
            assert "login region: https://identity.example.com/v3\n" in server.banner
            transport = HttpTransport(server.base)
            assert transport.send("GET", "/api/", []).data["currency"] == "EUR"
            transport.close()

    def test_every_invalid_setting_is_reported(self, tmp_path: Path) -> None:
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

    def test_printed_settings_file_starts_a_console(self, tmp_path: Path) -> None:
        done = command("serve", "--print-config")
        assert (done.returncode, done.stderr) == (0, "")
        file = tmp_path / "console.toml"
        file.write_text(done.stdout)
        with running_server(tmp_path, "--config", str(file)) as server:
            assert server.base.startswith("http://127.0.0.1:")


class TestCommandLine:
    def test_version_is_printed(self) -> None:
        done = command("--version")
        assert (done.returncode, done.stdout) == (0, f"cloudconsole {__version__}\n")

    @pytest.mark.parametrize("arguments", [["--help"], []])
    def test_help_lists_the_commands(self, arguments: list[str]) -> None:
        done = command(*arguments)
        assert done.returncode == 0
        assert "serve" in done.stdout
        assert "admin" in done.stdout

    @pytest.mark.parametrize("arguments", [["sevre"], ["--no-such-flag"], ["serve", "--no-such-flag"], ["serve", "x"]])
    def test_unknown_arguments_exit_with_2(self, arguments: list[str]) -> None:
        done = command(*arguments)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "see cloudconsole" in done.stderr

    def test_serve_help_lists_every_setting(self) -> None:
        done = command("serve", "--help", COLUMNS="500")
        assert done.returncode == 0
        for setting in SETTINGS.values():
            assert f"{setting.flag} " in done.stdout
            assert setting.help in done.stdout
            assert setting.kind.metavar in done.stdout
            assert f"\n{setting.group}:\n" in done.stdout

    def test_serve_help_fits_80_columns(self) -> None:
        assert max(map(len, command("serve", "--help", COLUMNS="80").stdout.splitlines())) <= 80

    def test_flag_overrides_variable(self, tmp_path: Path) -> None:
        done = command("serve", "--data", str(tmp_path), "--port", "1000000", CLOUDCONSOLE_PORT="0")
        assert done.stderr.startswith("cloudconsole: --port: ")

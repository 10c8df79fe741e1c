"""The running service: workers, signals, startup errors and output."""

import os
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC
from http.client import HTTPException
from pathlib import Path

import pytest

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.operator import cloud_file
from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.commands import serve
from cloudconsole.server.commands.banner import StartInfo, print_banner
from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.sqlite.engine import open_engine, opened
from tests.e2e.processes import children_of, command, connection_to, eventually, workers
from tests.e2e.raw_http import log_in, raw_connection, request
from tests.e2e.signalled_server import serve_with_signal_in_finalizer
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess, fork_context
from tests.harness import JSON, ApiClient, HttpTransport, Reply, RunningServer, clean_environment, running_server

WORKERS = 3


@pytest.fixture(scope="module")
def multi_worker_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with several workers; its worker processes stay the same throughout."""
    # A paused worker must not count as frozen.
    flags = ("--workers", str(WORKERS), "--worker-timeout", "0")
    with running_server(tmp_path_factory.mktemp("multi_worker_server"), *flags) as running:
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
    def test_failed_logins_are_counted_across_workers(self, multi_worker_server: RunningServer) -> None:
        start = threading.Barrier(40)

        def attempt(_: int) -> int:
            transport = HttpTransport(multi_worker_server.base)
            client = ApiClient(transport)
            client.open()
            start.wait(MAX_WAIT_SECONDS)
            status = client.login("guessed-by-many", "wrong").status
            transport.close()
            return status

        with ThreadPoolExecutor(40) as pool:
            assert Counter(pool.map(attempt, range(40))) == {401: 10, 429: 30}

    def test_login_and_logout_apply_to_every_worker_at_once(self, worker_connections: list[HttpTransport]) -> None:
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
    @pytest.mark.parametrize(("count", "sig"), [(1, signal.SIGINT), (WORKERS, signal.SIGTERM)])
    def test_running_requests_finish_and_new_ones_get_503(
        self, tmp_path: Path, count: int, sig: signal.Signals
    ) -> None:
        body = b'{"action": "GetFlavors"}'
        flags = ("--workers", str(count), "--stop-grace", "3600")
        with running_server(tmp_path, *flags) as server, raw_connection(server) as in_progress:
            headers = [("Content-Type", JSON), ("Content-Length", str(len(body))), ("Expect", "100-continue")]
            # The 100 shows that the request has started and the server waits for its body.
            in_progress.send(request("POST", "/api/", [*log_in(server), *headers]))
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
            assert server.process.wait(MAX_WAIT_SECONDS) == 0


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


class TestStoppingEarly:
    """The grace period is so long that a worker that missed the signal would never exit."""

    def test_stops_while_workers_are_starting(self, tmp_path: Path) -> None:
        for _ in range(2):
            with announced_server(tmp_path, "--workers", "8", "--stop-grace", "3600") as process:
                process.terminate()
                assert process.wait(MAX_WAIT_SECONDS) in (0, -signal.SIGTERM)

    @pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
    def test_stops_on_a_signal_inside_a_finalizer(self, tmp_path: Path, sig: signal.Signals) -> None:
        """An exception that a signal handler raises there is lost."""
        process = fork_context().Process(target=serve_with_signal_in_finalizer, args=(tmp_path, sig), daemon=True)
        process.start()
        process.join(MAX_WAIT_SECONDS)
        assert process.exitcode == 0
        assert f"stopped by {sig.name}: all requests finished" in (tmp_path / "log").read_text()

    def test_stops_on_sigint_to_the_process_group(self, tmp_path: Path) -> None:
        with announced_server(tmp_path, "--workers", "2", "--stop-grace", "3600") as process:
            eventually(lambda: len(children_of(process.pid)) == 2)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(MAX_WAIT_SECONDS) == 0


def test_port_and_sessions_can_be_used_right_after_a_restart(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, raw_connection(server) as connected:
        connected.send(request("GET", "/api/"))
        assert connected.answer().status == 200
        with closing(HttpTransport(server.base)) as transport:
            client = ApiClient(transport)
            assert client.login().status == 200
        port = server.port
        assert server.stop() == 0
    with running_server(tmp_path, "--port", str(port)) as server, closing(HttpTransport(server.base)) as transport:
        assert server.port == port
        assert on(transport, client).call("GetNews").status == 200


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

    def test_data_is_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "data"
        file.write_text("not a folder")
        assert_startup_error(["serve", "--data", str(file)], "--data", f"{file} is a file", "directory")
        assert file.read_text() == "not a folder"

    def test_parent_of_data_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert_startup_error(["serve", "--data", str(tmp_path / "file" / "data"), "--port", "0"], "data")

    def test_database_file_is_invalid(self, tmp_path: Path) -> None:
        (tmp_path / "cloud.db").write_bytes(b"this is no database, it only has its name" * 100)
        assert_startup_error(["serve", "--data", str(tmp_path), "--port", "0"], str(tmp_path))

    @pytest.mark.parametrize("flags", [("--host", "::"), ("--hosts", "console.example.com")])
    def test_sample_is_served_on_loopback_only(self, data: Path, flags: tuple[str, str]) -> None:
        assert_startup_error(["serve", "--port", "0", "--data", str(data), *flags], "--insecure-sample")

    def test_insecure_sample_allows_other_addresses(self, tmp_path: Path) -> None:
        with running_server(tmp_path, "--host", "0.0.0.0", "--insecure-sample") as server:
            transport = HttpTransport(server.base)
            assert ApiClient(transport).login().status == 200
            transport.close()


class TestBanner:
    @staticmethod
    def banner(data: Path) -> str:
        settings = Settings(data=data)
        is_empty, accounts = serve._inspect_accounts(settings)
        return print_banner(StartInfo(settings, 8000, ServerRuntime(), accounts, is_empty=is_empty, is_temporary=False))

    def test_empty_store_has_no_accounts_to_show(self, folder: Path) -> None:
        banner = self.banner(folder)
        assert "has no accounts" in banner
        assert "sample accounts" not in banner
        assert "curl" not in banner

    def test_only_accounts_with_the_sample_password_are_shown(self, folder: Path) -> None:
        (folder / "secret").write_text("changed secret")
        line = next(line for line in SAMPLE_FILE.read_text().splitlines() if "username: demo" in line)
        load_in_process(folder, changed_sample(folder, line, "      - {username: demo, password_file: secret}"))
        self.assert_only_other_is_shown(folder)

    def test_accounts_of_a_disabled_tenant_are_not_shown(self, data: Path) -> None:
        with opened(data, "cloud") as engine, operator_transaction(engine, actor="tests", now=0) as transaction:
            TENANTS.disable(transaction, "demo")
        self.assert_only_other_is_shown(data)

    def assert_only_other_is_shown(self, data: Path) -> None:
        banner = self.banner(data)
        assert "console-demo" not in banner
        assert "other / console-other" in banner
        assert "username=other -d password=console-other" in banner
        assert "has no accounts" not in banner


def test_data_directory_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "what? a#b %20 é;x=1"
    folder.mkdir()
    with running_server(folder, is_first=True) as server, closing(HttpTransport(server.base)) as transport:
        assert ApiClient(transport).login().status == 200
    assert {"cloud.db", "activity.db"} <= {path.name for path in (folder / "data").iterdir()}


def test_every_invalid_setting_is_reported(tmp_path: Path) -> None:
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


def test_printed_settings_file_is_the_documented_one() -> None:
    done = command("serve", "--print-config")
    documented = Path(__file__).parents[2] / "docs/reference/cloudconsole.toml"
    assert (done.returncode, done.stdout) == (0, documented.read_text())


def test_serve_help_lists_every_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = Parser(prog="cloudconsole serve")
    serve.add_arguments(parser)
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, parser.format_help().splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "500")
    text = parser.format_help()
    for setting in SETTINGS.values():
        assert f"{setting.flag} " in text
        assert setting.help in text
        assert setting.kind.metavar in text
        assert f"\n{setting.group}:\n" in text

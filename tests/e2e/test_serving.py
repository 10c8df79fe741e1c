"""The running service: several workers, restart, startup errors and output."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC
from pathlib import Path

import pytest

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.operator import cloud_file
from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.commands import serve
from cloudconsole.server.commands.banner import StartInfo, curl_session, print_banner, python_session
from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.sqlite.engine import open_engine, opened
from tests.docs.code_blocks import blocks
from tests.e2e.processes import client_of, command, connection_to, eventually, needs_curl, workers
from tests.e2e.raw_http import raw_connection, request
from tests.fork_server import MAX_WAIT_SECONDS, polls
from tests.harness import ApiClient, HttpTransport, RunningServer, clean_environment, running_server

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
    """Load a cloud file from this process, beside a running server."""
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

        def attempt(_number: int) -> int:
            with client_of(multi_worker_server.base) as client:
                client.open()
                start.wait(MAX_WAIT_SECONDS)
                # On a busy machine, the queue of logins may be full: such attempts do not count.
                for _ in polls():
                    reply = client.login("guessed-by-many", "wrong")
                    if reply.status != 503:
                        return reply.status
                raise AssertionError("the queue of logins stays full")

        with ThreadPoolExecutor(40) as pool:
            assert Counter(pool.map(attempt, range(40))) == {401: 10, 429: 30}

    def test_loaded_cloud_file_applies_to_every_worker_at_once(
        self, multi_worker_server: RunningServer, worker_connections: list[HttpTransport], tmp_path: Path
    ) -> None:
        first, data = ApiClient(worker_connections[0]), multi_worker_server.log_file.parent / "data"
        # The test's store has cheap password hashes, which the first load replaces; that ends all sessions.
        load(data, SAMPLE_FILE)
        assert first.login().status == 200
        clients = [on(transport, first) for transport in worker_connections for _ in range(3)]
        others = [ApiClient(transport) for transport in worker_connections]
        assert [other.login("other", "console-other").status for other in others] == [200] * WORKERS
        account = "{username: other, role: tenant,"
        try:
            for title in ("first change", "第二次"):
                load(data, changed_sample(tmp_path, "云控制台正式上线", title))
                assert {client.call("GetNews").data[-1]["title"] for client in clients} == {title}
            load(data, changed_sample(tmp_path, account, f"{account} disabled: true,"))
            assert [other.call("GetNews").error for other in others] == ["login_required"] * WORKERS
            assert others[0].login("other", "console-other").error == "invalid_credentials"
        finally:
            load(data, SAMPLE_FILE)


def test_port_and_sessions_can_be_used_right_after_a_restart(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, raw_connection(server) as connected:
        connected.send(request("GET", "/api/"))
        assert connected.answer().status == 200
        with client_of(server.base) as client:
            assert client.login().status == 200
        port = server.port
        assert server.stop() == 0
    with running_server(tmp_path, "--port", str(port)) as server, client_of(server.base) as later:
        assert server.port == port
        later.cookies = client.cookies
        assert later.call("GetNews").status == 200


def assert_startup_error(data: Path, *flags: str, mentions: Iterable[str]) -> None:
    """Check that `serve` exits with 1 and prints one line on standard error that contains `mentions`."""
    done = command("serve", "--port", "0", "--data", str(data), *flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"cloudconsole: [^\n]+\n", done.stderr)
    for mention in mentions:
        assert mention in done.stderr


class TestStartupErrors:
    @pytest.mark.parametrize(
        ("flag", "message"), [("--port={}", "another port"), ("--metrics=127.0.0.1:{}", ": metrics: cannot listen on ")]
    )
    def test_port_in_use(self, tmp_path: Path, flag: str, message: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            assert_startup_error(tmp_path / "data", flag.format(port), mentions=[port, message])

    @pytest.mark.parametrize(
        ("data", "flags", "mentions"),
        [
            ("file", [], ["--data", "file is a file", "directory"]),
            ("file/data", [], ["data"]),
            ("store", [], ["store"]),
            ("data", ["--config={}/console.toml"], ["console.toml: prot: unknown setting; did you mean port?"]),
        ],
        ids=["file", "in a file", "no database", "settings file"],
    )
    def test_unusable_files(self, tmp_path: Path, data: str, flags: list[str], mentions: list[str]) -> None:
        (tmp_path / "file").write_text("not a folder")
        (tmp_path / "console.toml").write_text("prot = 8000\n")
        (tmp_path / "store").mkdir(mode=0o700)
        (tmp_path / "store" / "cloud.db").write_bytes(b"this is no database, it only has its name" * 100)
        assert_startup_error(tmp_path / data, *(flag.format(tmp_path) for flag in flags), mentions=mentions)
        assert (tmp_path / "file").read_text() == "not a folder"

    @pytest.mark.parametrize("flags", [("--host", "::"), ("--hosts", "console.example.com")])
    def test_sample_is_served_on_loopback_only(self, data: Path, flags: tuple[str, str]) -> None:
        assert_startup_error(data, *flags, mentions=["--insecure-sample"])

    def test_insecure_sample_allows_other_addresses(self, tmp_path: Path) -> None:
        flags = ("--host", "0.0.0.0", "--insecure-sample")
        with running_server(tmp_path, *flags) as server, client_of(server.base) as client:
            assert client.login().status == 200


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
        load(folder, changed_sample(folder, line, "      - {username: demo, password_file: secret}"))
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


# Example sessions to paste: those that `serve` prints work unchanged, and the documents show the same.

CURL_TITLE = "Example session with curl:\n\n"
PYTHON_TITLE = "The same in Python, standard library only:\n\n"


def run_program(*program: str, text: str) -> str:
    """Run a program with this text as input and return its output; it must not print errors."""
    done = subprocess.run(program, input=text, env=clean_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@needs_curl
def test_printed_curl_session_returns_the_usage(server: RunningServer) -> None:
    printed = server.banner.partition(CURL_TITLE)[2].partition(PYTHON_TITLE)[0]
    envelope = json.loads(run_program("sh", "-eu", text=printed))
    assert envelope["code"] == 200
    assert envelope["data"]["maxTotalInstances"] == 20
    assert envelope["data"]["totalInstancesUsed"] == 4


def test_printed_python_session_returns_the_flavors(server: RunningServer) -> None:
    printed = run_program(sys.executable, "-I", "-", text=server.banner.partition(PYTHON_TITLE)[2])
    assert printed == ("{'vcpus': [1, 2, 4, 8, 16], 'ram': [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]}\n")


def test_documents_show_the_printed_sessions() -> None:
    here = "http://127.0.0.1:8000"
    assert curl_session(here, f"{here}/v3") in blocks("README.md", "sh")
    assert python_session(here, f"{here}/v3") in blocks("docs/guide/http-api.md", "python")


def test_data_directory_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "what? a#b %20 é;x=1"
    folder.mkdir()
    with running_server(folder, is_first=True) as server, client_of(server.base) as client:
        assert client.login().status == 200
    assert {"cloud.db", "activity.db"} <= {path.name for path in (folder / "data").iterdir()}


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
        for shown in (f"{setting.flag} ", setting.help, setting.kind.metavar, f"\n{setting.group}:\n"):
            assert shown in text

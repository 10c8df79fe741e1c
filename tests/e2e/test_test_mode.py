"""Test mode of `serve`: flags, rejected combinations, and real processes with their JSON announcement."""

import http.client
import json
import os
import signal
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.app import Console
from cloudconsole.server.commands import serve, test_mode_flags
from cloudconsole.server.commands.test_mode_flags import apply_test_defaults, read_test_runtime, reject_public_address
from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.runtime.worker import ListenError, bind
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import nodes, operator_audit, sessions
from cloudconsole.testing import ConsoleServer
from tests.e2e.processes import client_of, command, eventually, log_lines
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess
from tests.harness import (
    ApiClient,
    HttpTransport,
    InProcessTransport,
    RunningServer,
    clean_environment,
    make_sample_store,
    running_server,
)
from tests.server.http.helpers import rows

TEST_MODE_FLAGS = [["--clock", "2026-01-01T00:00:00Z"], ["--clock-fixed"], ["--seed", "7"], ["--test-mode"]]
CLOUD = """\
version: 1
tenants:
  - name: mine
    accounts: [{username: me, password_file: password}]
"""


def parse(*flags: str) -> Namespace:
    parser = Parser(prog="cloudconsole serve")
    serve.add_arguments(parser)
    return parser.parse_args(flags)


def runtime_of(*flags: str, **settings: Any) -> ServerRuntime:
    """Return the runtime that these flags select."""
    return read_test_runtime(parse(*flags), Settings(**settings))


class Started:
    """A console that announced its address in JSON."""

    def __init__(self, process: ForkedProcess, line: str) -> None:
        self.process = process
        self.announced: dict[str, Any] = json.loads(line)
        self.address: str = self.announced["address"]
        self.controls = ConsoleServer(self.address, self.announced["region"], Path(self.announced["data"]), {})


@contextmanager
def started(*flags: str, cwd: Path, stdin: int = subprocess.DEVNULL) -> Iterator[Started]:
    arguments = ["serve", "--port", "0", "--json", *flags]
    environment = clean_environment(TMPDIR=str(cwd))
    with (cwd / "log").open("w") as log:
        process = ForkedProcess(arguments, environment, cwd, stdin=stdin, stdout=subprocess.PIPE, stderr=log.fileno())
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, (cwd / "log").read_text()
            yield Started(process, line)
            rest = process.stdout
        finally:
            process.terminate()
        assert rest.read() == ""


def test_address_is_announced_as_one_line_of_json(tmp_path: Path) -> None:
    with started("--sample", cwd=tmp_path) as console, client_of(console.address) as client:
        assert client.login().status == 200
        assert console.announced == {
            "address": console.address,
            "listens": console.address,
            "region": f"{console.address}/v3",
            "pid": console.process.pid,
            "data": str(tmp_path / "data"),
            "accounts": [{"username": name, "password": f"console-{name}"} for name in ("demo", "other", "operator")],
        }


class TestTemporaryStore:
    @pytest.mark.parametrize("flags", TEST_MODE_FLAGS)
    def test_every_flag_selects_a_temporary_store(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with apply_test_defaults(parse(*flags)) as defaults:
            assert list(tmp_path.iterdir()) == [defaults["data"]]
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("flags", [["--test-mode", "--data", "kept"], ["--sample"]])
    def test_data_flag_or_ordinary_mode_selects_no_temporary_store(self, flags: list[str]) -> None:
        with apply_test_defaults(parse(*flags)) as defaults:
            assert defaults == {}

    def test_settings_file_overrides_the_temporary_store(self, tmp_path: Path) -> None:
        (tmp_path / "cloudconsole.toml").write_text('data = "/kept"\n')
        settings = load_settings({}, {"config": str(tmp_path / "cloudconsole.toml")}, {"data": tmp_path})
        assert settings.data == Path("/kept")

    def test_store_is_removed_after_a_startup_error(self, tmp_path: Path) -> None:
        done = command("serve", "--port", "0", "--test-mode", "--cloud", "missing.yaml", TMPDIR=str(tmp_path))
        assert done.returncode == 1
        assert list(tmp_path.iterdir()) == []


def test_banner_lists_the_test_mode_features() -> None:
    flags = ("--test-mode", "--seed", "7", "--clock", "2026-01-01T00:59:30Z", "--clock-fixed")
    assert runtime_of(*flags).describe() == [
        "the clock stands at 2026-01-01T00:59:30Z",
        "ids and tokens are the same at every start, and predictable",
        "test mode: the endpoints below /_test/ control this console",
    ]


LOOPBACK_ONLY = "allowed on loopback only: listen on 127.0.0.1, with loopback hosts and no proxies"


@pytest.mark.parametrize(
    ("flags", "settings", "problem"),
    [
        *((flags, {"host": "0.0.0.0"}, LOOPBACK_ONLY) for flags in TEST_MODE_FLAGS),
        (["--seed", "7"], {"workers": "2"}, "needs one worker: remove the setting workers"),
        (["--test-mode"], {"workers": "2"}, "needs one worker: remove the setting workers"),
        (["--test-mode"], {"metrics": "127.0.0.1:9"}, "has no metrics: remove the setting metrics"),
        (["--clock", "soon"], {}, "must be a time, such as 2026-01-31T08:00:00Z"),
        (["--clock", ""], {}, "must not be empty"),
        (["--clock", "2026-02-30T00:00:00Z"], {}, "is not a valid date or time"),
        (["--clock", "1970-06-01T00:00:00Z"], {}, "must be a time from 1971 to 8999"),
    ],
)
def test_unusable_flag_is_rejected(flags: list[str], settings: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingError) as error:
        read_test_runtime(parse(*flags), load_settings({}, settings))
    assert str(error.value) == f"{flags[0]}: {problem}"


def test_test_mode_needs_a_local_identity_endpoint() -> None:
    with pytest.raises(SettingError, match="remove identity endpoints that are not local"):
        runtime_of("--test-mode", identity=(IdentityEndpoint("https://identity.example.com/v3", "elsewhere"),))


def test_host_that_resolves_to_a_public_address_is_rejected() -> None:
    with bind("0.0.0.0", 0) as listener, pytest.raises(ListenError, match="loopback only, but the host resolved to 0"):
        reject_public_address(listener)
    with bind("127.0.0.1", 0) as listener:
        reject_public_address(listener)


@pytest.mark.parametrize("name", ["TEST_MODE", "CLOCK", "CLOCK_FIXED", "SEED", "CLOUD"])
def test_variables_cannot_enable_test_mode(name: str) -> None:
    with pytest.raises(SettingError, match="unknown setting"):
        load_settings({f"CLOUDCONSOLE_{name}": "1"}, {})


def test_an_ordinary_console_has_no_controls(server: RunningServer) -> None:
    with closing(HttpTransport(server.base)) as transport:
        other = transport.send("POST", "/_nothing/here", [("X-Request-ID", "same")])
        for name in ("reset", "clock", "fault"):
            for method in ("GET", "POST"):
                reply = transport.send(method, f"/_test/{name}", [("X-Request-ID", "same")])
                assert (reply.status, reply.body) == (404, other.body)
                assert {key for key, _ in reply.headers} == {key for key, _ in other.headers}


def test_delay_ends_when_the_client_disconnects_or_the_console_stops(tmp_path: Path) -> None:
    with running_server(tmp_path, "--test-mode", "--stop-grace", "30", is_first=True) as server:
        start_delayed_request(server, "disconnected").close()
        (line,) = eventually(lambda: [line for line in log_lines(server) if line["request_id"] == "disconnected"])
        assert line["duration_ms"] < 60_000
        with closing(start_delayed_request(server, "stopped")):
            assert server.stop() == 0
        assert "stopped by SIGTERM: all requests finished" in server.log()


def start_delayed_request(server: RunningServer, name: str) -> http.client.HTTPConnection:
    """Start a request that a fault delays by a minute, the longest delay."""
    controls = ConsoleServer(server.base, "", Path(), {})
    controls.fault(delay=60, call="welcome")
    waiting = http.client.HTTPConnection(server.base.partition("//")[2], timeout=MAX_WAIT_SECONDS)
    waiting.request("GET", "/api/", headers={"X-Request-ID": name})
    eventually(lambda: not controls.faults())
    return waiting


class TestSeed:
    FLAGS = ("--seed", "7", "--data", "store")

    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        """A test store with the sample cloud."""
        prepare(tmp_path / "store", test_mode=True)
        return make_sample_store(tmp_path / "store", 0)

    def test_same_seed_gives_the_same_ids_and_tokens(self, tmp_path: Path, store: Path) -> None:
        seen = []
        for _ in range(2):
            with started(*self.FLAGS, cwd=tmp_path) as console, client_of(console.address) as client:
                replies = (client.open(), client.login(), client.call("GetNews"))
                assert replies[-1].status == 200
                seen.append((client.cookies, [reply.header("X-Request-ID") for reply in replies]))
        assert seen[0] == seen[1]

    def test_old_sessions_end_before_the_address_is_announced(self, tmp_path: Path, store: Path) -> None:
        with closing(InProcessTransport(Console(Settings(data=store)))) as transport:
            assert ApiClient(transport).login().status == 200
        assert rows(store, sessions)
        with full_pipe() as output:
            arguments = ["serve", "--port", "0", "--json", *self.FLAGS]
            with ForkedProcess(arguments, clean_environment(), tmp_path, stdout=output) as process:
                try:
                    eventually(lambda: not rows(store, sessions))
                finally:
                    process.kill()


@contextmanager
def full_pipe() -> Iterator[int]:
    """A pipe whose buffer is full: a write to it blocks."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    yield writing
    os.close(reading)
    os.close(writing)


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """A cloud file with its password file."""
    (tmp_path / "password").write_text("my password\n")
    file = tmp_path / "cloud.yaml"
    file.write_text(CLOUD)
    return file


def load_first(data: Path, *flags: str) -> None:
    """Load the cloud that these flags name, as `serve` does."""
    settings = Settings(data=data)
    cloud = serve.read_initial_cloud(parse(*flags), settings)
    assert cloud is not None
    serve.load_initial_cloud(cloud, settings, 0)


class TestCloud:
    def test_cloud_file_is_served_from_a_temporary_store(self, tmp_path: Path, cloud: Path) -> None:
        with started("--cloud", str(cloud), "--test-mode", cwd=tmp_path) as console:
            store = Path(console.announced["data"])
            assert (store / "cloud.db").exists()
            assert console.announced["accounts"] == []
            with client_of(console.address) as client:
                assert client.login("me", "my password").status == 200
                assert client.call("GetUsageLimits").status == 200
            os.kill(console.process.pid, signal.SIGINT)
            assert console.process.wait(MAX_WAIT_SECONDS) == 0
        assert not store.exists()

    def test_store_with_any_data_is_not_empty(self, folder: Path, cloud: Path) -> None:
        load_first(folder, "--cloud", str(cloud))
        with pytest.raises(OperatorError) as error:
            load_first(folder, "--cloud", str(cloud))
        assert str(error.value) == (
            f"--cloud: the store in {folder} is not empty and was not changed: choose another store with "
            f"--data or --database, or run cloudconsole admin load {cloud} and serve without --cloud"
        )

    def test_sample_is_not_loaded_into_a_store_with_any_data(self, folder: Path, cloud: Path) -> None:
        assert command("admin", "node", "add", "hk-9", "--data", str(folder)).returncode == 0
        load_first(folder, "--sample")
        assert [row.name for row in rows(folder, nodes)] == ["hk-9"]
        assert len(rows(folder, operator_audit)) == 1

    def test_all_problems_are_reported_and_no_store_is_created(self, tmp_path: Path, cloud: Path) -> None:
        cloud.write_text(CLOUD + "nodes: [a, a]\nprices: nonsense\n")
        (tmp_path / "password").unlink()
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--cloud", str(cloud))
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 3
        assert all(line.startswith(f"cloudconsole: {cloud}:") for line in done.stderr.splitlines())
        assert not (tmp_path / "data").exists()

    def test_cloud_file_and_sample_are_mutually_exclusive(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            parse("--sample", "--cloud", "cloud.yaml")
        assert "--cloud: not allowed with argument --sample" in capsys.readouterr().err


class TestUntilStdinEnds:
    def test_console_stops_when_its_stdin_is_closed(self, tmp_path: Path) -> None:
        with started("--sample", "--test-mode", "--until-stdin-ends", cwd=tmp_path, stdin=subprocess.PIPE) as console:
            assert console.process.stdin is not None
            console.process.stdin.write("what is said there is passed over\n")
            console.process.stdin.flush()
            with client_of(console.address) as client:
                assert client.open().status == 200
            console.process.stdin.close()
            assert console.process.wait(MAX_WAIT_SECONDS) == 0
        assert {file.name for file in tmp_path.iterdir()} == {"log"}

    @pytest.mark.parametrize(
        ("flags", "is_pipe", "problems"),
        [
            (["--test-mode"], False, ["needs standard input to be a pipe"]),
            ([], True, ["needs --test-mode"]),
            ([], False, ["needs --test-mode", "needs standard input to be a pipe"]),
        ],
    )
    def test_a_pipe_and_test_mode_are_needed(
        self, monkeypatch: pytest.MonkeyPatch, flags: list[str], is_pipe: bool, problems: list[str]
    ) -> None:
        with full_pipe() as pipe, Path(os.devnull).open() as null:
            monkeypatch.setattr(test_mode_flags, "STDIN", pipe if is_pipe else null.fileno())
            with pytest.raises(SettingError) as error:
                runtime_of("--until-stdin-ends", *flags)
        assert str(error.value).splitlines() == [f"--until-stdin-ends: {problem}" for problem in problems]

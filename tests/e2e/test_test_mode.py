"""Test mode of `serve` in real processes: flags, JSON announcement, and rejected combinations."""

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.server.commands import serve
from cloudconsole.server.commands.test_mode_flags import apply_test_defaults, read_test_runtime, reject_public_address
from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.runtime.worker import ListenError, bind
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import sessions
from cloudconsole.testing import ConsoleServer
from tests.e2e.processes import command, eventually, log_lines
from tests.fork_server import ForkedProcess
from tests.harness import ApiClient, HttpTransport, RunningServer, clean_environment, running_server
from tests.server.http.helpers import rows

TEST_MODE_FLAGS = [["--clock", "2026-01-01T00:00:00Z"], ["--clock-fixed"], ["--seed", "7"], ["--test-mode"]]
CONTROLS = ("reset", "clock", "fault")
CLOUD = """\
version: 1
tenants:
  - name: mine
    accounts: [{username: me, password_file: password}]
"""


class Started:
    """A console that announced its address in JSON."""

    def __init__(self, process: ForkedProcess, line: str) -> None:
        self.process = process
        self.announced: dict[str, Any] = json.loads(line)
        self.address: str = self.announced["address"]
        self.controls = ConsoleServer(self.address, self.announced["region"], Path(self.announced["data"]), {})

    @contextmanager
    def client(self) -> Iterator[ApiClient]:
        transport = HttpTransport(self.address)
        try:
            yield ApiClient(transport)
        finally:
            transport.close()


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


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """A cloud file with its password file."""
    (tmp_path / "password").write_text("my password\n")
    file = tmp_path / "cloud.yaml"
    file.write_text(CLOUD)
    return file


def test_address_is_announced_as_one_line_of_json(tmp_path: Path) -> None:
    with started("--sample", cwd=tmp_path) as console, console.client() as client:
        assert client.login().status == 200
        assert console.announced == {
            "address": console.address,
            "listens": console.address,
            "region": f"{console.address}/v3",
            "pid": console.process.pid,
            "data": str(tmp_path / "data"),
            "accounts": [{"username": name, "password": f"console-{name}"} for name in ("demo", "other", "operator")],
        }


@pytest.mark.parametrize("flags", TEST_MODE_FLAGS)
def test_temporary_store_is_removed(tmp_path: Path, flags: list[str]) -> None:
    with started("--sample", *flags, cwd=tmp_path) as console:
        data = Path(console.announced["data"])
        assert (data / "cloud.db").exists()
        assert data.parent == tmp_path
    assert {file.name for file in tmp_path.iterdir()} == {"log"}


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_temporary_store_is_removed_after_a_signal(tmp_path: Path, sig: signal.Signals) -> None:
    with started("--sample", "--test-mode", cwd=tmp_path) as console, console.client() as client:
        assert client.open().status == 200
        os.kill(console.process.pid, sig)
        assert console.process.wait(timeout=60) == 0
    assert {file.name for file in tmp_path.iterdir()} == {"log"}


@pytest.mark.parametrize("flags", [["--cloud", "missing.yaml"], ["--clock", "soon"], ["--workers", "2"]])
def test_temporary_store_is_removed_after_a_startup_error(tmp_path: Path, flags: list[str]) -> None:
    done = command("serve", "--port", "0", "--test-mode", *flags, TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_no_temporary_store_with_a_data_flag(tmp_path: Path) -> None:
    parser = Parser(prog="cloudconsole serve")
    serve.add_arguments(parser)
    with apply_test_defaults(parser.parse_args(["--test-mode", "--data", str(tmp_path)])) as defaults:
        assert defaults == {}


def test_store_from_the_data_flag_is_kept(tmp_path: Path) -> None:
    with started("--sample", "--test-mode", "--data", "kept", cwd=tmp_path):
        pass
    assert (tmp_path / "kept/cloud.db").exists()


def test_store_from_the_settings_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cloudconsole.toml").write_text('data = "kept"\n')
    with started("--sample", "--test-mode", "--config", "cloudconsole.toml", cwd=tmp_path):
        pass
    assert (tmp_path / "kept/cloud.db").exists()


def test_banner_lists_the_test_mode_features(tmp_path: Path) -> None:
    flags = ("--test-mode", "--seed", "7", "--clock", "2026-01-01T00:59:30Z", "--clock-fixed")
    with running_server(tmp_path, *flags, is_first=True) as server:
        assert "the clock stands at 2026-01-01T00:59:30Z\n" in server.banner
        assert "ids and tokens are the same at every start, and predictable\n" in server.banner
        assert "test mode: POST /_test/reset, /_test/clock and /_test/fault control this console\n" in server.banner


def start_delayed_request(server: RunningServer) -> http.client.HTTPConnection:
    """Start a request that a fault delays by a minute."""
    controls = ConsoleServer(server.base, "", Path(), {})
    controls.fault(delay=60, call="welcome")
    waiting = http.client.HTTPConnection(server.base.partition("//")[2], timeout=30)
    waiting.request("GET", "/api/", headers={"X-Request-ID": "delayed"})
    eventually(lambda: not controls.faults())
    return waiting


def test_delayed_request_does_not_delay_the_stop(tmp_path: Path) -> None:
    with running_server(tmp_path, "--test-mode", "--stop-grace", "20", is_first=True) as server:
        with closing(start_delayed_request(server)):
            assert server.stop() == 0
        assert "stopped by SIGTERM: all requests finished" in server.log()


def test_delay_ends_when_the_client_disconnects(tmp_path: Path) -> None:
    with running_server(tmp_path, "--test-mode", is_first=True) as server:
        start_delayed_request(server).close()
        assert eventually(lambda: [line for line in log_lines(server) if line["request_id"] == "delayed"])


@pytest.mark.parametrize("flags", TEST_MODE_FLAGS)
def test_requests_forwarded_by_a_proxy_are_rejected(tmp_path: Path, flags: list[str]) -> None:
    with started("--sample", *flags, cwd=tmp_path) as console, console.client() as client:
        rejected = client.send("GET", "/api/", {"X-Forwarded-For": "192.0.2.1"})
        assert rejected.error == "invalid_host"
        assert "does not accept requests forwarded by a proxy" in rejected.envelope["message"]


def test_host_that_resolves_to_a_public_address_is_rejected() -> None:
    with bind("0.0.0.0", 0) as listener, pytest.raises(ListenError, match="loopback only, but the host resolved to 0"):
        reject_public_address(listener)
    with bind("127.0.0.1", 0) as listener:
        reject_public_address(listener)


def test_an_ordinary_console_has_no_controls(server: RunningServer) -> None:
    transport = HttpTransport(server.base)
    other = transport.send("POST", "/_nothing/here", [("X-Request-ID", "same")])
    for name in CONTROLS:
        for method in ("GET", "POST"):
            reply = transport.send(method, f"/_test/{name}", [("X-Request-ID", "same")])
            assert (reply.status, reply.body) == (404, other.body)
            assert {key for key, _ in reply.headers} == {key for key, _ in other.headers}
    transport.close()
    assert "clock" not in server.banner
    assert "test mode" not in server.banner


class TestClock:
    def test_clock_runs_from_its_start_time(self, tmp_path: Path) -> None:
        start = datetime.fromisoformat("2026-01-01T00:59:30Z")
        with started("--sample", "--test-mode", "--clock", "2026-01-01T00:59:30Z", cwd=tmp_path) as console:
            assert start <= console.controls.now() < start + timedelta(hours=1)
            assert console.controls.now().year == 2026

    def test_sample_is_loaded_at_the_clock_time(self, tmp_path: Path) -> None:
        with started("--sample", "--clock", "2031-05-06T07:08:09Z", "--clock-fixed", cwd=tmp_path) as console:
            done = command("admin", "audit", "--json", "--data", console.announced["data"])
            assert "2031-05-06T07:08:09Z" in done.stdout, done.stdout + done.stderr

    def test_workers_share_the_clock(self, tmp_path: Path) -> None:
        flags = ("--sample", "--clock", "2031-05-06T07:08:09Z", "--clock-fixed", "--workers", "2")
        with started(*flags, cwd=tmp_path) as console:
            for _ in range(8):
                with console.client() as client:
                    assert "Expires=Tue, 04 May 2032 07:08:09 GMT" in client.open().set_cookies["csrftoken"]

    @pytest.mark.parametrize(
        ("time", "problem"),
        [
            ("soon", "must be a time, such as 2026-01-31T08:00:00Z"),
            ("", "must not be empty"),
            ("2026-02-30T00:00:00Z", "is not a valid date or time"),
            ("1970-06-01T00:00:00Z", "must be a time from 1971 to 8999"),
        ],
    )
    def test_invalid_time_is_rejected(self, tmp_path: Path, time: str, problem: str) -> None:
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--clock", time)
        assert (done.returncode, done.stderr) == (1, f"cloudconsole: --clock: {problem}\n")
        assert not (tmp_path / "data").exists()


def generated_ids(console: Started) -> tuple[dict[str, str], list[str | None]]:
    with console.client() as client:
        request_ids = [
            reply.header("X-Request-ID") for reply in (client.open(), client.login(), client.call("GetNews"))
        ]
        return client.cookies, request_ids


class TestSeed:
    def test_same_seed_gives_the_same_ids_and_tokens(self, tmp_path: Path) -> None:
        seen = []
        for run, seed in enumerate(("7", "7", "8")):
            folder = tmp_path / str(run)
            folder.mkdir()
            with started("--sample", "--seed", seed, cwd=folder) as console:
                seen.append(generated_ids(console))
        assert seen[0] == seen[1]
        assert set(seen[0][0].values()).isdisjoint(seen[2][0].values())
        assert set(seen[0][1]).isdisjoint(seen[2][1])

    def test_ids_and_tokens_differ_without_a_seed(self, tmp_path: Path) -> None:
        seen = []
        for run in range(2):
            folder = tmp_path / str(run)
            folder.mkdir()
            with started("--sample", cwd=folder) as console:
                seen.append(generated_ids(console))
        assert set(seen[0][0].values()).isdisjoint(seen[1][0].values())
        assert set(seen[0][1]).isdisjoint(seen[1][1])

    def test_sessions_of_an_earlier_run_are_ended(self, tmp_path: Path) -> None:
        flags = ("--seed", "7", "--data", "kept")
        with started("--sample", *flags, cwd=tmp_path) as console, console.client() as client:
            assert client.login().status == 200
            old = dict(client.cookies)
        with started(*flags, cwd=tmp_path) as console, console.client() as client:
            client.cookies = dict(old)
            assert client.call("GetNews").error == "login_required"
            client.cookies = {}
            assert client.login("other", "console-other").status == 200

    def test_old_sessions_end_before_the_address_is_announced(self, tmp_path: Path) -> None:
        flags = ("--seed", "7", "--data", "kept")
        with started("--sample", *flags, cwd=tmp_path) as console, console.client() as client:
            assert client.login().status == 200
        assert rows(tmp_path / "kept", sessions)
        with full_pipe() as output:
            arguments = ["serve", "--port", "0", "--json", *flags]
            with ForkedProcess(arguments, clean_environment(), tmp_path, stdout=output) as process:
                try:
                    eventually(lambda: not rows(tmp_path / "kept", sessions))
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


class TestCloud:
    def test_cloud_file_is_served(self, tmp_path: Path, cloud: Path) -> None:
        with started("--cloud", str(cloud), "--test-mode", cwd=tmp_path) as console, console.client() as client:
            assert console.announced["accounts"] == []
            assert client.login("me", "my password").status == 200
            assert client.call("GetUsageLimits").status == 200

    def test_cloud_file_is_not_loaded_into_an_existing_store(self, tmp_path: Path, cloud: Path) -> None:
        data = tmp_path / "data"
        with started("--cloud", str(cloud), cwd=tmp_path):
            pass
        done = command("serve", "--port", "0", "--data", str(data), "--cloud", str(cloud))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"cloudconsole: --cloud: the store in {data} is not empty and was not changed: choose another store with "
            f"--data or --database, or run cloudconsole admin load {cloud} and serve without --cloud\n"
        )
        loaded = command("admin", "load", str(cloud), "--data", str(data))
        assert loaded.returncode == 0, loaded.stderr

    def test_store_with_any_data_is_not_empty(self, tmp_path: Path, cloud: Path) -> None:
        data = tmp_path / "data"
        prepare(data)
        assert command("admin", "node", "add", "hk-9", "--data", str(data)).returncode == 0
        with started("--sample", cwd=tmp_path):
            pass
        assert command("serve", "--port", "0", "--data", str(data), "--cloud", str(cloud)).returncode == 1
        assert "hk-9" in command("admin", "node", "list", "--data", str(data)).stdout

    def test_all_problems_are_reported_and_no_store_is_created(self, tmp_path: Path, cloud: Path) -> None:
        cloud.write_text(CLOUD + "nodes: [a, a]\nprices: nonsense\n")
        (tmp_path / "password").unlink()
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--cloud", str(cloud))
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 3
        assert all(line.startswith(f"cloudconsole: {cloud}:") for line in done.stderr.splitlines())
        assert not (tmp_path / "data").exists()

    def test_missing_file_is_reported_in_one_line(self, tmp_path: Path) -> None:
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--cloud", "no/such.yaml")
        problem = "cloudconsole: no/such.yaml cannot be read: No such file or directory\n"
        assert (done.returncode, done.stderr) == (1, problem)

    def test_cloud_file_and_sample_are_mutually_exclusive(self, cloud: Path) -> None:
        done = command("serve", "--sample", "--cloud", str(cloud))
        assert done.returncode == 2
        assert "--cloud: not allowed with argument --sample" in done.stderr


def test_any_region_accepts_unknown_regions(tmp_path: Path) -> None:
    with started("--any-region", "--sample", "--test-mode", cwd=tmp_path) as console, console.client() as client:
        assert client.login(region="https://identity.example.com:5000/v3").status == 200


@pytest.mark.parametrize("flags", TEST_MODE_FLAGS)
@pytest.mark.parametrize(
    "public_flags",
    [
        ["--host", "0.0.0.0"],
        ["--hosts", "console.example.com"],
        ["--public-origin", "https://console.example.com"],
        ["--proxies", "192.0.2.1"],
    ],
)
def test_test_mode_is_rejected_on_public_addresses(tmp_path: Path, flags: list[str], public_flags: list[str]) -> None:
    done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), *flags, *public_flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cloudconsole: {flags[0]}: allowed on loopback only: listen on 127.0.0.1, with loopback hosts and no proxies\n"
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("flags", [["--seed", "7"], ["--test-mode"]])
def test_seed_and_test_mode_need_one_worker(tmp_path: Path, flags: list[str]) -> None:
    done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--workers", "2", *flags)
    assert (done.returncode, done.stderr) == (
        1,
        f"cloudconsole: {flags[0]}: needs one worker: remove the setting workers\n",
    )


def test_test_mode_has_no_metrics(tmp_path: Path) -> None:
    done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--metrics", "127.0.0.1:9", "--test-mode")
    assert (done.returncode, done.stderr) == (
        1,
        "cloudconsole: --test-mode: has no metrics: remove the setting metrics\n",
    )


def test_test_mode_needs_a_local_identity_endpoint() -> None:
    external = IdentityEndpoint("https://identity.example.com/v3", "elsewhere")
    parser = Parser()
    serve.add_arguments(parser)
    with pytest.raises(SettingError, match="remove identity endpoints that are not local"):
        read_test_runtime(parser.parse_args(["--test-mode"]), Settings(identity=(external,)))


def test_console_stops_when_its_stdin_is_closed(tmp_path: Path) -> None:
    with started("--sample", "--test-mode", "--until-stdin-ends", cwd=tmp_path, stdin=subprocess.PIPE) as console:
        assert console.process.stdin is not None
        console.process.stdin.write("what is said there is passed over\n")
        console.process.stdin.flush()
        with console.client() as client:
            assert client.open().status == 200
        console.process.stdin.close()
        assert console.process.wait(timeout=60) == 0
    assert {file.name for file in tmp_path.iterdir()} == {"log"}


@pytest.mark.parametrize(
    ("flags", "stdin", "problems"),
    [
        (["--test-mode"], subprocess.DEVNULL, ["needs standard input to be a pipe"]),
        ([], subprocess.PIPE, ["needs --test-mode"]),
        ([], subprocess.DEVNULL, ["needs --test-mode", "needs standard input to be a pipe"]),
    ],
)
def test_until_stdin_ends_needs_a_pipe_and_test_mode(
    tmp_path: Path, flags: list[str], stdin: int, problems: list[str]
) -> None:
    arguments = ["serve", "--port", "0", "--until-stdin-ends", *flags]
    with ForkedProcess(arguments, clean_environment(), tmp_path, stdin=stdin, stderr=subprocess.PIPE) as process:
        assert process.wait(timeout=60) == 1
        assert process.stderr is not None
        output = process.stderr.read()
    assert output == "".join(f"cloudconsole: --until-stdin-ends: {problem}\n" for problem in problems)


def test_variables_cannot_enable_test_mode(tmp_path: Path) -> None:
    for name in ("TEST_MODE", "CLOCK", "CLOCK_FIXED", "SEED", "CLOUD"):
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), **{f"CLOUDCONSOLE_{name}": "1"})
        assert done.returncode == 1
        assert "unknown setting" in done.stderr

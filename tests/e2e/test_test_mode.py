"""`serve` for the desk, over real processes: its flags, the line for programs, and what it refuses."""

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

from cloudconsole.cli.parser import Parser
from cloudconsole.server.commands import serve
from cloudconsole.server.commands.test_mode_flags import apply_test_defaults, read_test_runtime, reject_public_address
from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.runtime.worker import ListenError, bind
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import sessions
from cloudconsole.testing import ConsoleServer
from tests.e2e.processes import command, eventually, log_lines
from tests.fork_server import WarmProcess
from tests.harness import Caller, OverHttp, RunningServer, clean_environment, running_server
from tests.server.http.world import rows

DESK_FLAGS = [["--clock", "2026-01-01T00:00:00Z"], ["--clock-fixed"], ["--seed", "7"], ["--test-mode"]]
CONTROLS = ("reset", "clock", "fault")
CLOUD = """\
version: 1
tenants:
  - name: mine
    accounts: [{username: me, password_file: password}]
"""


class Started:
    """A console that said where it is in JSON."""

    def __init__(self, process: WarmProcess, line: str) -> None:
        self.process = process
        self.told: dict[str, Any] = json.loads(line)
        self.address: str = self.told["address"]
        self.controls = ConsoleServer(self.address, self.told["region"], Path(self.told["data"]), {})

    @contextmanager
    def caller(self) -> Iterator[Caller]:
        wire = OverHttp(self.address)
        try:
            yield Caller(wire)
        finally:
            wire.close()


@contextmanager
def started(*flags: str, cwd: Path, stdin: int = subprocess.DEVNULL) -> Iterator[Started]:
    arguments = ["serve", "--port", "0", "--json", *flags]
    environment = clean_environment(TMPDIR=str(cwd))
    with (cwd / "log").open("w") as log:
        process = WarmProcess(arguments, environment, cwd, stdin=stdin, stdout=subprocess.PIPE, stderr=log.fileno())
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
    """A cloud file of one's own, with a password beside it."""
    (tmp_path / "password").write_text("my password\n")
    file = tmp_path / "cloud.yaml"
    file.write_text(CLOUD)
    return file


def test_the_address_is_one_line_of_json_and_answers_at_once(tmp_path: Path) -> None:
    with started("--sample", cwd=tmp_path) as console, console.caller() as caller:
        assert caller.login().status == 200
        assert console.told == {
            "address": console.address,
            "listens": console.address,
            "region": f"{console.address}/v3",
            "pid": console.process.pid,
            "data": str(tmp_path / "data"),
            "accounts": [{"username": name, "password": f"console-{name}"} for name in ("demo", "other", "operator")],
        }


@pytest.mark.parametrize("flags", DESK_FLAGS)
def test_nothing_is_left_behind(tmp_path: Path, flags: list[str]) -> None:
    with started("--sample", *flags, cwd=tmp_path) as console:
        data = Path(console.told["data"])
        assert (data / "cloud.db").exists()
        assert data.parent == tmp_path
    assert {file.name for file in tmp_path.iterdir()} == {"log"}


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_nor_after_any_signal(tmp_path: Path, sig: signal.Signals) -> None:
    with started("--sample", "--test-mode", cwd=tmp_path) as console, console.caller() as caller:
        assert caller.open().status == 200
        os.kill(console.process.pid, sig)
        assert console.process.wait(timeout=60) == 0
    assert {file.name for file in tmp_path.iterdir()} == {"log"}


@pytest.mark.parametrize("flags", [["--cloud", "missing.yaml"], ["--clock", "soon"], ["--workers", "2"]])
def test_nor_after_a_refusal(tmp_path: Path, flags: list[str]) -> None:
    done = command("serve", "--port", "0", "--test-mode", *flags, TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_where_a_folder_is_given_no_other_is_made(tmp_path: Path) -> None:
    parser = Parser(prog="cloudconsole serve")
    serve.add_arguments(parser)
    with apply_test_defaults(parser.parse_args(["--test-mode", "--data", str(tmp_path)])) as default_overrides:
        assert default_overrides == {}


def test_a_folder_that_is_given_stays(tmp_path: Path) -> None:
    with started("--sample", "--test-mode", "--data", "kept", cwd=tmp_path):
        pass
    assert (tmp_path / "kept/cloud.db").exists()


def test_a_folder_that_the_environment_gives_stays(tmp_path: Path) -> None:
    (tmp_path / "cloudconsole.toml").write_text('data = "kept"\n')
    with started("--sample", "--test-mode", "--config", "cloudconsole.toml", cwd=tmp_path):
        pass
    assert (tmp_path / "kept/cloud.db").exists()


def test_the_welcome_tells_what_is_unlike_an_ordinary_console(tmp_path: Path) -> None:
    flags = ("--test-mode", "--seed", "7", "--clock", "2026-01-01T00:59:30Z", "--clock-fixed")
    with running_server(tmp_path, *flags, is_first=True) as server:
        assert "the clock stands at 2026-01-01T00:59:30Z\n" in server.banner
        assert "ids and tokens are the same at every start, and predictable\n" in server.banner
        assert "test mode: POST /_test/reset, /_test/clock and /_test/fault control this console\n" in server.banner


def begin_delayed_call(server: RunningServer) -> http.client.HTTPConnection:
    """A call that a fault delays by a minute."""
    controls = ConsoleServer(server.base, "", Path(), {})
    controls.fault(delay=60, call="welcome")
    waiting = http.client.HTTPConnection(server.base.partition("//")[2], timeout=30)
    waiting.request("GET", "/api/", headers={"X-Request-ID": "delayed"})
    eventually(lambda: not controls.faults())
    return waiting


def test_a_delayed_call_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    with running_server(tmp_path, "--test-mode", "--stop-grace", "20", is_first=True) as server:
        with closing(begin_delayed_call(server)):
            assert server.stop() == 0
        assert "stopped by SIGTERM: all requests finished" in server.log()


def test_a_delay_ends_when_its_caller_has_gone(tmp_path: Path) -> None:
    with running_server(tmp_path, "--test-mode", is_first=True) as server:
        begin_delayed_call(server).close()
        assert eventually(lambda: [line for line in log_lines(server) if line["request_id"] == "delayed"])


@pytest.mark.parametrize("flags", DESK_FLAGS)
def test_nothing_is_taken_from_a_proxy(tmp_path: Path, flags: list[str]) -> None:
    with started("--sample", *flags, cwd=tmp_path) as console, console.caller() as caller:
        refused = caller.send("GET", "/api/", {"X-Forwarded-For": "192.0.2.1"})
        assert refused.error == "invalid_host"
        assert "does not accept requests forwarded by a proxy" in refused.envelope["message"]


def test_a_name_that_leads_to_others_is_refused() -> None:
    with bind("0.0.0.0", 0) as listener, pytest.raises(ListenError, match="loopback only, but the host resolved to 0"):
        reject_public_address(listener)
    with bind("127.0.0.1", 0) as listener:
        reject_public_address(listener)


def test_an_ordinary_console_has_no_controls(server: RunningServer) -> None:
    wire = OverHttp(server.base)
    other = wire.send("POST", "/_nothing/here", [("X-Request-ID", "same")])
    for name in CONTROLS:
        for method in ("GET", "POST"):
            reply = wire.send(method, f"/_test/{name}", [("X-Request-ID", "same")])
            assert (reply.status, reply.body) == (404, other.body)
            assert {key for key, _ in reply.headers} == {key for key, _ in other.headers}
    wire.close()
    assert "clock" not in server.banner
    assert "test mode" not in server.banner


class TestClock:
    def test_it_runs_from_where_it_is_set(self, tmp_path: Path) -> None:
        start = datetime.fromisoformat("2026-01-01T00:59:30Z")
        with started("--sample", "--test-mode", "--clock", "2026-01-01T00:59:30Z", cwd=tmp_path) as console:
            assert start <= console.controls.now() < start + timedelta(hours=1)
            assert console.controls.now().year == 2026

    def test_the_sample_is_loaded_at_that_time(self, tmp_path: Path) -> None:
        with started("--sample", "--clock", "2031-05-06T07:08:09Z", "--clock-fixed", cwd=tmp_path) as console:
            done = command("admin", "audit", "--json", "--data", console.told["data"])
            assert "2031-05-06T07:08:09Z" in done.stdout, done.stdout + done.stderr

    def test_several_workers_have_the_same(self, tmp_path: Path) -> None:
        flags = ("--sample", "--clock", "2031-05-06T07:08:09Z", "--clock-fixed", "--workers", "2")
        with started(*flags, cwd=tmp_path) as console:
            for _ in range(8):
                with console.caller() as caller:
                    assert "Expires=Tue, 04 May 2032 07:08:09 GMT" in caller.open().set_cookies["csrftoken"]

    @pytest.mark.parametrize(
        ("time", "problem"),
        [
            ("soon", "must be a time, such as 2026-01-31T08:00:00Z"),
            ("", "must not be empty"),
            ("2026-02-30T00:00:00Z", "is not a valid date or time"),
            ("1970-06-01T00:00:00Z", "must be a time from 1971 to 8999"),
        ],
    )
    def test_what_is_no_time_is_refused(self, tmp_path: Path, time: str, problem: str) -> None:
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--clock", time)
        assert (done.returncode, done.stderr) == (1, f"cloudconsole: --clock: {problem}\n")
        assert not (tmp_path / "data").exists()


def ids_of(console: Started) -> tuple[dict[str, str], list[str | None]]:
    with console.caller() as caller:
        request_ids = [
            reply.header("X-Request-ID") for reply in (caller.open(), caller.login(), caller.call("GetNews"))
        ]
        return caller.cookies, request_ids


class TestSeed:
    def test_ids_and_tokens_are_the_same_again_over_a_fresh_store(self, tmp_path: Path) -> None:
        seen = []
        for run, seed in enumerate(("7", "7", "8")):
            folder = tmp_path / str(run)
            folder.mkdir()
            with started("--sample", "--seed", seed, cwd=folder) as console:
                seen.append(ids_of(console))
        assert seen[0] == seen[1]
        assert set(seen[0][0].values()).isdisjoint(seen[2][0].values())
        assert set(seen[0][1]).isdisjoint(seen[2][1])

    def test_without_one_they_are_not(self, tmp_path: Path) -> None:
        seen = []
        for run in range(2):
            folder = tmp_path / str(run)
            folder.mkdir()
            with started("--sample", cwd=folder) as console:
                seen.append(ids_of(console))
        assert set(seen[0][0].values()).isdisjoint(seen[1][0].values())
        assert set(seen[0][1]).isdisjoint(seen[1][1])

    def test_sessions_of_an_earlier_run_end_and_are_not_in_the_way(self, tmp_path: Path) -> None:
        flags = ("--seed", "7", "--data", "kept")
        with started("--sample", *flags, cwd=tmp_path) as console, console.caller() as caller:
            assert caller.login().status == 200
            old = dict(caller.cookies)
        with started(*flags, cwd=tmp_path) as console, console.caller() as caller:
            caller.cookies = dict(old)
            assert caller.call("GetNews").error == "login_required"
            caller.cookies = {}
            assert caller.login("other", "console-other").status == 200

    def test_they_have_ended_before_it_says_where_it_is(self, tmp_path: Path) -> None:
        flags = ("--seed", "7", "--data", "kept")
        with started("--sample", *flags, cwd=tmp_path) as console, console.caller() as caller:
            assert caller.login().status == 200
        assert rows(tmp_path / "kept", sessions)
        with full_pipe() as output:
            arguments = ["serve", "--port", "0", "--json", *flags]
            with WarmProcess(arguments, clean_environment(), tmp_path, stdout=output) as process:
                try:
                    eventually(lambda: not rows(tmp_path / "kept", sessions))
                finally:
                    process.kill()


@contextmanager
def full_pipe() -> Iterator[int]:
    """A pipe that takes not one line more: whoever writes to it waits."""
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
    def test_a_file_of_ones_own_is_served(self, tmp_path: Path, cloud: Path) -> None:
        with started("--cloud", str(cloud), "--test-mode", cwd=tmp_path) as console, console.caller() as caller:
            assert console.told["accounts"] == []
            assert caller.login("me", "my password").status == 200
            assert caller.call("GetUsageLimits").status == 200

    def test_what_is_there_is_never_taken_for_it(self, tmp_path: Path, cloud: Path) -> None:
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

    def test_a_store_with_anything_in_it_is_not_empty(self, tmp_path: Path, cloud: Path) -> None:
        data = tmp_path / "data"
        prepare(data)
        assert command("admin", "node", "add", "hk-9", "--data", str(data)).returncode == 0
        with started("--sample", cwd=tmp_path):
            pass
        assert command("serve", "--port", "0", "--data", str(data), "--cloud", str(cloud)).returncode == 1
        assert "hk-9" in command("admin", "node", "list", "--data", str(data)).stdout

    def test_every_problem_of_a_file_is_told_and_no_store_made(self, tmp_path: Path, cloud: Path) -> None:
        cloud.write_text(CLOUD + "nodes: [a, a]\nprices: nonsense\n")
        (tmp_path / "password").unlink()
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--cloud", str(cloud))
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 3
        assert all(line.startswith(f"cloudconsole: {cloud}:") for line in done.stderr.splitlines())
        assert not (tmp_path / "data").exists()

    def test_a_missing_file_is_told_in_a_line(self, tmp_path: Path) -> None:
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), "--cloud", "no/such.yaml")
        problem = "cloudconsole: no/such.yaml cannot be read: No such file or directory\n"
        assert (done.returncode, done.stderr) == (1, problem)

    def test_it_cannot_stand_beside_the_sample(self, cloud: Path) -> None:
        done = command("serve", "--sample", "--cloud", str(cloud))
        assert done.returncode == 2
        assert "--cloud: not allowed with argument --sample" in done.stderr


def test_any_region_is_a_switch_by_itself(tmp_path: Path) -> None:
    with started("--any-region", "--sample", "--test-mode", cwd=tmp_path) as console, console.caller() as caller:
        assert caller.login(region="https://identity.example.com:5000/v3").status == 200


@pytest.mark.parametrize("flags", DESK_FLAGS)
@pytest.mark.parametrize(
    "reach",
    [
        ["--host", "0.0.0.0"],
        ["--hosts", "console.example.com"],
        ["--public-origin", "https://console.example.com"],
        ["--proxies", "192.0.2.1"],
    ],
)
def test_it_is_never_for_a_network(tmp_path: Path, flags: list[str], reach: list[str]) -> None:
    done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), *flags, *reach)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cloudconsole: {flags[0]}: allowed on loopback only: listen on 127.0.0.1, with loopback hosts and no proxies\n"
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("flags", [["--seed", "7"], ["--test-mode"]])
def test_it_needs_one_worker(tmp_path: Path, flags: list[str]) -> None:
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


def test_test_mode_needs_accounts_of_its_own() -> None:
    foreign = IdentityEndpoint("https://identity.example.com/v3", "elsewhere")
    parser = Parser()
    serve.add_arguments(parser)
    with pytest.raises(SettingError, match="remove identity endpoints that are not local"):
        read_test_runtime(parser.parse_args(["--test-mode"]), Settings(identity=(foreign,)))


def test_it_ends_with_whoever_holds_its_standard_input(tmp_path: Path) -> None:
    with started("--sample", "--test-mode", "--until-stdin-ends", cwd=tmp_path, stdin=subprocess.PIPE) as console:
        assert console.process.stdin is not None
        console.process.stdin.write("what is said there is passed over\n")
        console.process.stdin.flush()
        with console.caller() as caller:
            assert caller.open().status == 200
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
def test_it_cannot_end_with_what_has_no_end(tmp_path: Path, flags: list[str], stdin: int, problems: list[str]) -> None:
    arguments = ["serve", "--port", "0", "--until-stdin-ends", *flags]
    with WarmProcess(arguments, clean_environment(), tmp_path, stdin=stdin, stderr=subprocess.PIPE) as process:
        assert process.wait(timeout=60) == 1
        assert process.stderr is not None
        told = process.stderr.read()
    assert told == "".join(f"cloudconsole: --until-stdin-ends: {problem}\n" for problem in problems)


def test_no_settings_file_and_no_variable_turns_it_on(tmp_path: Path) -> None:
    for name in ("TEST_MODE", "CLOCK", "CLOCK_FIXED", "SEED", "CLOUD"):
        done = command("serve", "--port", "0", "--data", str(tmp_path / "data"), **{f"CLOUDCONSOLE_{name}": "1"})
        assert done.returncode == 1
        assert "unknown setting" in done.stderr

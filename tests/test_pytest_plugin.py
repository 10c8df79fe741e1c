"""A console for the tests of other projects: as a context manager, and by the pytest plugin (in nested pytest runs)."""

import io
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NamedTuple

import pytest

from cloudconsole import Console, testing
from cloudconsole.testing import ConsoleServer, ServerNotStarted, process, running_console
from tests.e2e.processes import eventually
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess
from tests.harness import CERTIFICATES, clean_environment

HAS_ENTRY_POINT = bool(entry_points(group="pytest11", name="cloudconsole"))
PLUGIN_FLAGS = () if HAS_ENTRY_POINT else ("-p", "cloudconsole.pytest_plugin")
"""An editable installation made before the plugin existed does not load it automatically."""


class Outcome(NamedTuple):
    code: int
    output: str

    def assert_passed(self, number: int) -> None:
        assert self.code == 0, self.output
        assert f" {number} passed" in self.output


def run_pytest(folder: Path, test: str, *flags: str, plugin_flags: tuple[str, ...] = PLUGIN_FLAGS) -> Outcome:
    """Run pytest in a directory with this one test file; warnings are errors."""
    (folder / "test_example.py").write_text(test)
    # A run inside another cannot use the fault handler, and must not use the module of an earlier one.
    sys.modules.pop("test_example", None)
    ours = ["-p", "no:cacheprovider", "-p", "no:faulthandler", "-W", "error", "--import-mode=importlib"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as output:
        patch.chdir(folder)
        code = pytest.main([*ours, *plugin_flags, *flags])
    return Outcome(int(code), output.getvalue())


@pytest.fixture
def forked_consoles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start test consoles in forked processes, which is faster, where the process itself is not the subject."""

    def start(command: list[str], *, stdin: int, stdout: int, stderr: IO[bytes], env: dict[str, str], **_: Any) -> Any:
        arguments = command[command.index("cloudconsole") + 1 :]
        return ForkedProcess(arguments, env, stdin=stdin, stdout=stdout, stderr=stderr.fileno(), own_session=True)

    fake = SimpleNamespace(Popen=start, PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(process, "subprocess", fake)


@pytest.mark.usefixtures("forked_consoles")
def test_console_is_reset_before_each_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = """
import pytest

addresses = set()

@pytest.mark.parametrize("run_number", [1, 2])
def test_repeatedly(cloudconsole_server, cloudconsole_client, run_number):
    addresses.add(cloudconsole_server.address)
    assert cloudconsole_client.usage_limits().instances.used == 4
    assert not cloudconsole_server.faults()
    assert cloudconsole_server.now().year == 2027
    assert cloudconsole_client.session.username == "demo"
    assert [request.call for request in cloudconsole_server.requests] == ["GetUsageLimits"]
    cloudconsole_server.fault("unavailable", times=99, call="GetNews", retry_after=0)
    cloudconsole_server.set_clock("2030-01-01T00:00:00Z")
    cloudconsole_server.load({"news": [], "tenants": [{"name": "demo", "quotas": {"instances": 5}}]})

def test_console_is_shared_and_reset_without_a_client(cloudconsole_server):
    assert addresses == {cloudconsole_server.address}
    assert cloudconsole_server.now().year == 2027
    assert not cloudconsole_server.faults()
    assert not cloudconsole_server.requests
    with cloudconsole_server.client() as client:
        assert client.usage_limits().instances.limit == 20
        assert client.news()
"""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    run_pytest(tmp_path, tests, "--cloudconsole-clock", "2027-01-01T00:00:00Z").assert_passed(3)


class RespondingServer(ConsoleServer):
    """A server whose control requests all succeed."""

    def _exchange(self, method: str, path: str, body: bytes) -> bytes:
        return b'{"code": 200, "message": "", "data": {}}'


IN_PROCESS = """
import anyio
import pytest
import threading

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
async def test_with_an_async_plugin(cloudconsole_server, cloudconsole_async_client):
    usage = await cloudconsole_async_client.usage_limits()
    assert usage.instances.used == 4
    assert [request.call for request in cloudconsole_server.requests] == ["GetUsageLimits"]

def test_first_request_is_the_one_of_the_test(cloudconsole_server, cloudconsole_async_client):
    cloudconsole_server.fault(drop=True)
    assert anyio.run(cloudconsole_async_client.news)
    requests = cloudconsole_server.requests
    assert [(each.call, each.status) for each in requests] == [("GetNews", None), ("GetNews", 200)]

def test_with_a_loop_of_its_own(cloudconsole_server, cloudconsole_async_client):
    cloudconsole_server.advance(12 * 3600)
    assert anyio.run(cloudconsole_async_client.news)
    cloudconsole_server.requests.assert_received("login", times=1)

def test_after_another(cloudconsole_server, cloudconsole_client):
    assert cloudconsole_server.now().year == 2027
    assert not cloudconsole_server.requests
    assert cloudconsole_client.urls()
"""


@pytest.mark.usefixtures("forked_consoles")
@pytest.mark.parametrize("in_process", [False, True])
def test_async_client_works_with_any_event_loop(tmp_path: Path, in_process: bool) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ncloudconsole_in_process = {in_process}\n")
    before = threading.active_count()
    run_pytest(tmp_path, IN_PROCESS, "--cloudconsole-clock", "2027-01-01T00:00:00Z").assert_passed(4)
    assert threading.active_count() == before


class FakeConsole:
    """Replaces `running_console`: records its arguments and starts nothing."""

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {}
        self.problem: str | None = None

    @contextmanager
    def __call__(self, **arguments: Any) -> Iterator[ConsoleServer]:
        self.arguments = arguments
        if self.problem:
            raise ServerNotStarted(self.problem)
        yield RespondingServer("http://127.0.0.1:9", "", Path(), arguments["accounts"] or {})


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> FakeConsole:
    fake = FakeConsole()
    monkeypatch.setattr(testing, "running_console", fake)
    monkeypatch.setattr(testing, "in_process_console", fake)
    return fake


INI = """\
[pytest]
cloudconsole_cloud = clouds/mine.yaml
cloudconsole_username = me
cloudconsole_password = my password
cloudconsole_clock = 2026-11-15T12:00:00Z
cloudconsole_clock_fixed = true
cloudconsole_seed = 7
cloudconsole_flags = --currency EUR --any-region
"""
FROM_INI = {
    "cloud": "clouds/mine.yaml",
    "accounts": {"me": "my password"},
    "clock": "2026-11-15T12:00:00Z",
    "clock_fixed": True,
    "seed": "7",
    "flags": ["--currency", "EUR", "--any-region"],
}
FLAGS = [
    *("--cloudconsole-cloud", "other.yaml", "--cloudconsole-username", "you", "--cloudconsole-password", "yours"),
    *("--cloudconsole-clock", "2027-01-01T00:00:00Z", "--cloudconsole-seed", "8"),
]
FROM_FLAGS = {"cloud": "tests/other.yaml", "accounts": {"you": "yours"}, "clock": "2027-01-01T00:00:00Z", "seed": "8"}


@pytest.mark.parametrize(("flags", "expected"), [([], FROM_INI), (FLAGS, FROM_INI | FROM_FLAGS)])
def test_options_configure_the_console(
    tmp_path: Path, console: FakeConsole, flags: list[str], expected: dict[str, Any]
) -> None:
    (tmp_path / "pytest.ini").write_text(INI)
    (tmp_path / "tests").mkdir()
    test = "def test_example(cloudconsole_session_server): pass\n"
    run_pytest(tmp_path / "tests", test, *flags).assert_passed(1)
    assert console.arguments == {**expected, "cloud": str(tmp_path / expected["cloud"])}


@pytest.mark.parametrize("fixture", ["cloudconsole_client", "cloudconsole_async_client"])
@pytest.mark.parametrize(
    ("problem", "shown"),
    [
        (None, "{fixture}: set cloudconsole_username and cloudconsole_password, too"),
        ("cloudconsole: --clock: must be a time", "cloudconsole: --clock: must be a time"),
    ],
    ids=["no account", "startup error"],
)
def test_failure_is_reported_in_one_line(
    tmp_path: Path, console: FakeConsole, problem: str | None, shown: str, fixture: str
) -> None:
    console.problem = problem
    shown = shown.format(fixture=fixture)
    done = run_pytest(tmp_path, f"def test_example({fixture}): pass\n")
    assert done.code == 1
    assert f"\n{shown}\n" in done.output
    assert "Traceback" not in done.output


def test_plugin_can_be_disabled(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path, "def test_example(cloudconsole_client): pass\n", "-p", "no:cloudconsole", plugin_flags=()
    )
    assert "fixture 'cloudconsole_client' not found" in done.output


def test_unused_plugin_imports_nothing_else() -> None:
    script = """
import sys, pytest
before = set(sys.modules)
import cloudconsole.pytest_plugin
print(*sorted(set(sys.modules) - before))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=True)
    assert done.stdout == "cloudconsole cloudconsole._version cloudconsole.pytest_plugin\n"


# The context manager, for any test framework


def is_listening(address: str) -> bool:
    host, port = address.removeprefix("http://").split(":")
    with socket.socket() as connection:
        return connection.connect_ex((host, int(port))) == 0


def logged_in(server: ConsoleServer) -> Console:
    return Console(server.address, region=server.region, username=server.username, password=server.password)


def test_sample_is_served_and_everything_is_removed_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with running_console() as server:
        with logged_in(server) as console:
            assert console.usage_limits().instances.used == 4
        assert (server.username, server.password) == ("demo", "console-demo")
        assert list(server.accounts) == ["demo", "other", "operator"]
        assert (server.data / "cloud.db").exists()
    assert list(tmp_path.iterdir()) == []
    assert not is_listening(server.address)
    with pytest.raises(ServerNotStarted, match=f"the console at {server.address} does not respond"):
        server.reset()


def test_console_stops_when_the_tests_are_killed(tmp_path: Path) -> None:
    script = """
import time
from cloudconsole.testing import running_console
with running_console() as server:
    print(server.address, flush=True)
    # Until it is killed.
    time.sleep(3600)
"""
    environment = clean_environment(TMPDIR=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment) as tests:
        assert tests.stdout is not None
        address = tests.stdout.readline().strip()
        assert is_listening(address)
        tests.kill()
    eventually(lambda: not is_listening(address))
    eventually(lambda: not list(tmp_path.iterdir()))


def test_environment_and_modules_in_the_working_directory_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "CLOUDCONSOLE_PORT", "nonsense")
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:9")
    (tmp_path / "calendar.py").write_text("raise SystemExit('not the calendar')\n")
    monkeypatch.chdir(tmp_path)
    with running_console() as server:
        server.reset()


@pytest.mark.usefixtures("forked_consoles")
def test_controls_use_the_listening_address() -> None:
    with running_console(flags=["--public-origin", "http://localhost:1"]) as server:
        assert server.address == "http://localhost:1"
        server.reset()


@pytest.mark.usefixtures("forked_consoles")
def test_tls_is_rejected() -> None:
    tls = ["--tls-certificate", str(CERTIFICATES / "ec.pem"), "--tls-key", str(CERTIFICATES / "ec-key.pem")]
    with pytest.raises(ServerNotStarted, match="do not support TLS"), running_console(flags=tls):
        pass


@pytest.mark.parametrize(
    "response", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\n\r\nhello", b"HTTP/1.1 200 OK\r\n\r\n[1]", b""]
)
def test_other_server_is_reported_as_not_responding(response: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(1) as thread:

        def respond_once() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(response)

        thread.submit(respond_once)
        address = f"http://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ServerNotStarted, match=f"the console at {address} does not respond"):
            ConsoleServer(address, "", Path(), {}).reset()


@pytest.mark.usefixtures("forked_consoles")
def test_startup_error_is_raised() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        flags = ["--port", str(other.getsockname()[1])]
        with pytest.raises(ServerNotStarted, match=r"^cloudconsole: .*in use"), running_console(flags=flags):
            pass


@pytest.mark.usefixtures("forked_consoles")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"clock": "1900-01-01T00:00:00Z"}, "^cloudconsole: --clock: must be a time"),
        ({"cloud": __file__}, f"^cloudconsole: {__file__}"),
        ({"flags": ["--nonsense"]}, "^cloudconsole: unknown option --nonsense"),
    ],
)
def test_value_that_the_console_rejects_is_a_value_error(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem), running_console(**arguments):
        pass


def test_username_needs_an_account() -> None:
    with pytest.raises(ValueError, match="no account: pass accounts="):
        assert ConsoleServer("http://127.0.0.1:9", "", Path(), {}).username

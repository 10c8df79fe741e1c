"""The pytest plugin, in pytest runs inside this one."""

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NamedTuple

import pytest

from cloudconsole import testing
from cloudconsole.testing import ConsoleServer, ServerNotStarted
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess

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
    monkeypatch.setattr(testing, "subprocess", fake)


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
    cloudconsole_server.fault("unavailable", times=99, call="GetNews", retry_after=0)
    cloudconsole_server.set_clock("2030-01-01T00:00:00Z")

def test_console_is_shared_and_reset_after_the_last_client(cloudconsole_server):
    assert addresses == {cloudconsole_server.address}
    assert cloudconsole_server.now().year == 2027
"""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    run_pytest(tmp_path, tests, "--cloudconsole-clock", "2027-01-01T00:00:00Z").assert_passed(3)


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
        yield ConsoleServer("http://127.0.0.1:9", "", Path(), arguments["accounts"] or {})


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> FakeConsole:
    fake = FakeConsole()
    monkeypatch.setattr(testing, "running_console", fake)
    return fake


INI = """\
[pytest]
cloudconsole_cloud = clouds/mine.yaml
cloudconsole_username = me
cloudconsole_password = my password
cloudconsole_clock = 2026-01-01T00:59:30Z
cloudconsole_clock_fixed = true
cloudconsole_seed = 7
cloudconsole_flags = --currency EUR --any-region
"""


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            [],
            {
                "cloud": "clouds/mine.yaml",
                "accounts": {"me": "my password"},
                "clock": "2026-01-01T00:59:30Z",
                "clock_fixed": True,
                "seed": "7",
                "flags": ["--currency", "EUR", "--any-region"],
            },
        ),
        (
            [
                *("--cloudconsole-cloud", "other.yaml", "--cloudconsole-username", "you"),
                *("--cloudconsole-password", "yours", "--cloudconsole-clock", "2027-01-01T00:00:00Z"),
                *("--cloudconsole-seed", "8"),
            ],
            {
                "cloud": "tests/other.yaml",
                "accounts": {"you": "yours"},
                "clock": "2027-01-01T00:00:00Z",
                "clock_fixed": True,
                "seed": "8",
                "flags": ["--currency", "EUR", "--any-region"],
            },
        ),
    ],
    ids=["ini file", "command line"],
)
def test_options_configure_the_console(
    tmp_path: Path, console: FakeConsole, flags: list[str], expected: dict[str, Any]
) -> None:
    (tmp_path / "pytest.ini").write_text(INI)
    (tmp_path / "tests").mkdir()
    run_pytest(tmp_path / "tests", "def test_example(cloudconsole_server): pass\n", *flags).assert_passed(1)
    assert console.arguments == {**expected, "cloud": str(tmp_path / expected["cloud"])}


@pytest.mark.parametrize(
    ("problem", "shown"),
    [
        (None, "cloudconsole_client: set cloudconsole_username and cloudconsole_password, too"),
        ("cloudconsole: --clock: must be a time", "cloudconsole: --clock: must be a time"),
    ],
    ids=["no account", "startup error"],
)
def test_failure_is_reported_in_one_line(tmp_path: Path, console: FakeConsole, problem: str | None, shown: str) -> None:
    console.problem = problem
    done = run_pytest(tmp_path, "def test_example(cloudconsole_client): pass\n")
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

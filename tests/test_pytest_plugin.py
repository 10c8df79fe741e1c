"""The pytest plugin, in separate pytest runs."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.harness import clean_environment

HAS_ENTRY_POINT = bool(entry_points(group="pytest11", name="cloudconsole"))
PLUGIN_FLAGS = () if HAS_ENTRY_POINT else ("-p", "cloudconsole.pytest_plugin")
"""An editable installation made before the plugin existed does not load it automatically."""

CLOUD = """\
version: 1
tenants:
  - name: mine
    accounts: [{username: me, password_file: password}]
"""


def run_pytest(
    folder: Path, test: str, *flags: str, plugin_flags: tuple[str, ...] = PLUGIN_FLAGS, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run pytest in a directory with this one test file; warnings are errors."""
    (folder / "test_example.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *plugin_flags, *flags]
    return subprocess.run(
        command,
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def assert_passed(done: "subprocess.CompletedProcess[str]", number: int) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert f" {number} passed" in done.stdout


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """A directory with a cloud file and its password file."""
    folder = tmp_path / "clouds"
    folder.mkdir()
    (folder / "password").write_text("my password\n")
    (folder / "mine.yaml").write_text(CLOUD)
    return folder


def test_console_is_reset_before_each_test(tmp_path: Path) -> None:
    tests = """
import pytest
from cloudconsole import LoginRequired, ServerError

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

def test_console_is_shared(cloudconsole_server):
    assert addresses == {cloudconsole_server.address}
    assert cloudconsole_server.now().year == 2027
"""
    assert_passed(run_pytest(tmp_path, tests, "--cloudconsole-clock", "2027-01-01T00:00:00Z"), 3)


def test_ini_file_configures_the_console(tmp_path: Path, cloud: Path) -> None:
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\n"
        "cloudconsole_cloud = clouds/mine.yaml\n"
        "cloudconsole_username = me\n"
        "cloudconsole_password = my password\n"
        "cloudconsole_clock = 2026-01-01T00:59:30Z\n"
        "cloudconsole_clock_fixed = true\n"
        "cloudconsole_seed = 7\n"
        "cloudconsole_flags = --currency EUR --any-region\n"
    )
    folder = tmp_path / "tests"
    folder.mkdir()
    test = """
def test_example(cloudconsole_server, cloudconsole_client):
    assert cloudconsole_server.accounts == {"me": "my password"}
    assert cloudconsole_client.usage_limits().instances.used == 0
    assert cloudconsole_client.about().currency == "EUR"
    assert cloudconsole_server.now() == cloudconsole_server.set_clock("2026-01-01T00:59:30Z")
    cookies = {cookie.name: cookie.value for cookie in cloudconsole_client.session.cookies}
    print("cookies:", cookies)
"""
    runs = [run_pytest(folder, test, "-s", http_proxy="http://127.0.0.1:9") for _ in range(2)]
    for done in runs:
        assert_passed(done, 1)
    first, second = ([line for line in done.stdout.splitlines() if "cookies:" in line] for done in runs)
    assert first == second != []


def test_command_line_overrides_the_ini_file(tmp_path: Path, cloud: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ncloudconsole_cloud = missing.yaml\n")
    test = "def test_example(cloudconsole_client): assert cloudconsole_client.urls() == []\n"
    account = ("--cloudconsole-username", "me", "--cloudconsole-password", "my password")
    assert_passed(run_pytest(tmp_path, test, "--cloudconsole-cloud", "clouds/mine.yaml", *account), 1)


def test_client_fixture_needs_an_account(tmp_path: Path, cloud: Path) -> None:
    test = "def test_example(cloudconsole_client): pass\n"
    done = run_pytest(tmp_path, test, "--cloudconsole-cloud", "clouds/mine.yaml")
    assert done.returncode == 1
    assert "\ncloudconsole_client: set cloudconsole_username and cloudconsole_password, too\n" in done.stdout
    assert "Traceback" not in done.stdout


def test_startup_error_is_reported_in_one_line(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "def test_example(cloudconsole_client): pass\n", "--cloudconsole-clock", "soon")
    assert done.returncode == 1
    assert "\ncloudconsole: --clock: must be a time, such as 2026-01-31T08:00:00Z\n" in done.stdout
    assert "Traceback" not in done.stdout


def test_missing_server_extra_is_reported_in_one_line(tmp_path: Path) -> None:
    fake_packages = tmp_path / "fake_packages"
    fake_packages.mkdir()
    (fake_packages / "uvicorn.py").write_text("raise ModuleNotFoundError(name='uvicorn')\n")
    (tmp_path / "tests").mkdir()
    paths = [str(fake_packages), *(path for path in sys.path if path)]
    test = "def test_example(cloudconsole_client): pass\n"
    done = run_pytest(tmp_path / "tests", test, PYTHONPATH=":".join(paths))
    assert done.returncode == 1
    assert "\ncloudconsole: 'serve' needs the server: pip install 'cloudconsole[server]'\n" in done.stdout
    assert "Traceback" not in done.stdout


def test_each_worker_of_a_parallel_run_has_its_own_console(tmp_path: Path) -> None:
    test = """
import pytest

@pytest.mark.parametrize("run_number", range(4))
def test_repeatedly(cloudconsole_client, cloudconsole_server, run_number):
    cloudconsole_server.fault("unavailable", call="GetNews", retry_after=0)
    assert cloudconsole_client.news()
    assert not cloudconsole_server.faults()
"""
    assert_passed(run_pytest(tmp_path, test, "-n", "2"), 4)


def test_plugin_can_be_disabled(tmp_path: Path) -> None:
    flags = ("-p", "no:cloudconsole")
    assert_passed(run_pytest(tmp_path, "def test_example(): pass\n", *flags, plugin_flags=()), 1)
    done = run_pytest(tmp_path, "def test_example(cloudconsole_client): pass\n", *flags, plugin_flags=())
    assert "fixture 'cloudconsole_client' not found" in done.stdout


def test_unused_plugin_imports_nothing_else(tmp_path: Path) -> None:
    script = """
import sys, pytest
before = set(sys.modules)
import cloudconsole.pytest_plugin
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "cloudconsole cloudconsole._version cloudconsole.pytest_plugin\n"

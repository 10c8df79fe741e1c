"""The pytest plugin, in runs of pytest of their own."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.harness import clean_environment

HAS_ENTRY_POINT = bool(entry_points(group="pytest11", name="cloudconsole"))
LOADED = () if HAS_ENTRY_POINT else ("-p", "cloudconsole.pytest_plugin")
"""An installation from before the plugin does not load it by itself."""

CLOUD = """\
version: 1
tenants:
  - name: mine
    accounts: [{username: me, password_file: password}]
"""


def run_pytest(
    folder: Path, test: str, *flags: str, loaded: tuple[str, ...] = LOADED, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """A run in a folder with this one file of tests; warnings are errors."""
    (folder / "test_mine.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *loaded, *flags]
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
    """A folder with a cloud file of one's own and its password."""
    folder = tmp_path / "clouds"
    folder.mkdir()
    (folder / "password").write_text("my password\n")
    (folder / "mine.yaml").write_text(CLOUD)
    return folder


def test_each_test_has_the_console_as_at_its_start(tmp_path: Path) -> None:
    tests = """
import pytest
from cloudconsole import LoginRequired, ServerError

addresses = set()

@pytest.mark.parametrize("turn", [1, 2])
def test_in_turn(cloudconsole_server, cloudconsole_client, turn):
    addresses.add(cloudconsole_server.address)
    assert cloudconsole_client.usage_limits().instances.used == 4
    assert not cloudconsole_server.faults()
    assert cloudconsole_server.now().year == 2027
    assert cloudconsole_client.session.username == "demo"
    cloudconsole_server.fault("unavailable", times=99, call="GetNews", retry_after=0)
    cloudconsole_server.set_clock("2030-01-01T00:00:00Z")

def test_one_console_for_all(cloudconsole_server):
    assert addresses == {cloudconsole_server.address}
    assert cloudconsole_server.now().year == 2027
"""
    assert_passed(run_pytest(tmp_path, tests, "--cloudconsole-clock", "2027-01-01T00:00:00Z"), 3)


def test_a_cloud_of_ones_own_by_the_ini_file(tmp_path: Path, cloud: Path) -> None:
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
def test_mine(cloudconsole_server, cloudconsole_client):
    assert cloudconsole_server.accounts == {"me": "my password"}
    assert cloudconsole_client.usage_limits().instances.used == 0
    assert cloudconsole_client.about().currency == "EUR"
    assert cloudconsole_server.now() == cloudconsole_server.set_clock("2026-01-01T00:59:30Z")
    cookies = {cookie.name: cookie.value for cookie in cloudconsole_client.session.cookies}
    print("told:", cookies)
"""
    runs = [run_pytest(folder, test, "-s", http_proxy="http://127.0.0.1:9") for _ in range(2)]
    for done in runs:
        assert_passed(done, 1)
    first, second = ([line for line in done.stdout.splitlines() if "told:" in line] for done in runs)
    assert first == second != []


def test_the_command_line_goes_before_the_ini_file(tmp_path: Path, cloud: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ncloudconsole_cloud = missing.yaml\n")
    test = "def test_mine(cloudconsole_client): assert cloudconsole_client.urls() == []\n"
    account = ("--cloudconsole-username", "me", "--cloudconsole-password", "my password")
    assert_passed(run_pytest(tmp_path, test, "--cloudconsole-cloud", "clouds/mine.yaml", *account), 1)


def test_a_client_needs_an_account(tmp_path: Path, cloud: Path) -> None:
    test = "def test_mine(cloudconsole_client): pass\n"
    done = run_pytest(tmp_path, test, "--cloudconsole-cloud", "clouds/mine.yaml")
    assert done.returncode == 1
    assert "\ncloudconsole_client: set cloudconsole_username and cloudconsole_password, too\n" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_console_that_cannot_start_is_told_in_a_line(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "def test_mine(cloudconsole_client): pass\n", "--cloudconsole-clock", "soon")
    assert done.returncode == 1
    assert "\ncloudconsole: --clock: must be a time, such as 2026-01-31T08:00:00Z\n" in done.stdout
    assert "Traceback" not in done.stdout


def test_where_the_server_is_not_installed_that_is_told_in_a_line(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "uvicorn.py").write_text("raise ModuleNotFoundError(name='uvicorn')\n")
    (tmp_path / "tests").mkdir()
    places = [str(absent), *(place for place in sys.path if place)]
    test = "def test_mine(cloudconsole_client): pass\n"
    done = run_pytest(tmp_path / "tests", test, PYTHONPATH=":".join(places))
    assert done.returncode == 1
    assert "\ncloudconsole: 'serve' needs the server: pip install 'cloudconsole[server]'\n" in done.stdout
    assert "Traceback" not in done.stdout


def test_each_worker_of_a_parallel_run_has_its_own_console(tmp_path: Path) -> None:
    test = """
import pytest

@pytest.mark.parametrize("turn", range(4))
def test_in_turn(cloudconsole_client, cloudconsole_server, turn):
    cloudconsole_server.fault("unavailable", call="GetNews", retry_after=0)
    assert cloudconsole_client.news()
    assert not cloudconsole_server.faults()
"""
    assert_passed(run_pytest(tmp_path, test, "-n", "2"), 4)


def test_it_can_be_left_out(tmp_path: Path) -> None:
    flags = ("-p", "no:cloudconsole")
    assert_passed(run_pytest(tmp_path, "def test_mine(): pass\n", *flags, loaded=()), 1)
    done = run_pytest(tmp_path, "def test_mine(cloudconsole_client): pass\n", *flags, loaded=())
    assert "fixture 'cloudconsole_client' not found" in done.stdout


def test_it_costs_a_run_that_does_not_use_it_nothing(tmp_path: Path) -> None:
    script = """
import sys, pytest
before = set(sys.modules)
import cloudconsole.pytest_plugin
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "cloudconsole cloudconsole._version cloudconsole.pytest_plugin\n"

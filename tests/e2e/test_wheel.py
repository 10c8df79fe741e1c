"""The wheel: its content, and its behaviour in an otherwise empty virtual environment.

Dependencies are not downloaded again: symbolic links give that environment the libraries of this one that are locked or
required by the wheel, and no others.
"""

import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import distribution, distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from cloudconsole._version import __version__
from tests.cli.users import PASSWORD, CliUser
from tests.e2e.processes import eventually
from tests.harness import ApiClient, HttpTransport, RunningServer, clean_environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHIPPED = ("src", "requirements", "pyproject.toml", "README.md", "LICENSE")


def pip(*arguments: str, python: Path | None = None) -> None:
    """Run pip of this environment, optionally on another one (`--python`)."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    if python is not None:
        command += ["--python", str(python)]
    done = subprocess.run(
        [*command, *arguments], env=clean_environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the source tree."""
    tree, directory = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / name)
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", str(directory), str(tree))
    (built,) = directory.iterdir()
    return built


class Environment:
    """A new virtual environment without pip, with only the wheel installed."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, with_pip=False)
        self.bin = folder / "bin"
        (self._packages,) = (folder / "lib").glob("python*/site-packages")
        pip("install", "--no-compile", "--no-index", "--no-deps", str(wheel), python=self.bin / "python")

    @property
    def requirements(self) -> list[str]:
        """Requirements of the wheel, including those of its extras."""
        (ours,) = distributions(name="cloudconsole", path=[str(self._packages)])
        return ours.requires or []

    def add(self, lines: Iterable[str], *, recursive: bool) -> None:
        """Link the required libraries and, if `recursive`, their dependencies."""
        for requirement in map(Requirement, lines):
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            assert not requirement.extras, "extras are not supported here"
            found = distribution(requirement.name)
            assert requirement.specifier.contains(found.version), f"{requirement}: {found.version} is installed"
            for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                if not (self._packages / name).exists():
                    (self._packages / name).symlink_to(Path(str(found.locate_file(name))))
            if recursive:
                self.add(found.requires or (), recursive=True)


@pytest.fixture(scope="module")
def full_bin(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of an environment with the wheel and all locked requirements."""
    environment = Environment(tmp_path_factory.mktemp("full"), wheel)
    locked = re.findall(r"^\w[^\\\n]*", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    environment.add(locked, recursive=False)
    return environment.bin


@pytest.fixture(scope="module")
def client_bin(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of an environment with the wheel and its requirements, without extras."""
    environment = Environment(tmp_path_factory.mktemp("plain"), wheel)
    environment.add(environment.requirements, recursive=True)
    return environment.bin


def run(bin_directory: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [bin_directory / "cloudconsole", *arguments],
        env=clean_environment(**environment),
        cwd=bin_directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def serving(bin_directory: Path, folder: Path) -> Iterator[str]:
    """Run `cloudconsole serve --sample` of an environment; yield its address."""
    banner = folder / "banner"
    with banner.open("w") as output, (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [bin_directory / "cloudconsole", "serve", "--sample", "--port", "0", "--data", "data"],
            stdout=output,
            stderr=log,
            env=clean_environment(),
            cwd=folder,
        )
    try:
        found = eventually(lambda: process.poll() or re.match(r"Cloud Console serves on (\S+)\n", banner.read_text()))
        assert isinstance(found, re.Match), (folder / "log").read_text()
        yield found[1]
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> set[str]:
    """Names of the files in the wheel."""
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "operator/sample/cloud.yaml",
        "store/migrations/env.py",
        "store/migrations/versions/m0001_initial_schema.py",
    ],
)
def test_wheel_contains(wheel_names: set[str], name: str) -> None:
    assert f"cloudconsole/{name}" in wheel_names


def test_wheel_contains_the_whole_package(wheel_names: set[str]) -> None:
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name and ".egg-info" not in name} <= wheel_names


def test_wheel_contains_only_the_package_and_its_metadata(wheel_names: set[str]) -> None:
    assert {name.partition("/")[0] for name in wheel_names} == {"cloudconsole", f"cloudconsole-{__version__}.dist-info"}


def test_wheel_registers_the_pytest_plugin(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        entry_points = archive.read(f"cloudconsole-{__version__}.dist-info/entry_points.txt").decode()
    assert "[pytest11]\ncloudconsole=cloudconsole.pytest_plugin\n" in entry_points


def test_wheel_contains_the_licence(wheel_names: set[str]) -> None:
    assert any(name.endswith("LICENSE") for name in wheel_names)


def test_installed_program_prints_its_version(full_bin: Path) -> None:
    done = run(full_bin, "--version")
    assert (done.returncode, done.stdout) == (0, f"cloudconsole {__version__}\n")


def test_installed_package_is_not_the_source_tree(full_bin: Path) -> None:
    code = "import cloudconsole; print(cloudconsole.__file__)"
    done = subprocess.run([full_bin / "python", "-c", code], cwd=full_bin, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(full_bin.parent)


def test_installed_program_serves_the_sample(full_bin: Path, tmp_path: Path) -> None:
    with serving(full_bin, tmp_path) as base:
        transport = HttpTransport(base)
        client = ApiClient(transport)
        assert client.login().status == 200
        assert client.call("GetUsageLimits").data["totalInstancesUsed"] == 4
        transport.close()


def test_version_works_without_the_server_extra(client_bin: Path) -> None:
    done = run(client_bin, "--version")
    assert (done.returncode, done.stdout) == (0, f"cloudconsole {__version__}\n")


def test_help_works_without_the_server_extra(client_bin: Path) -> None:
    done = run(client_bin, "--help")
    assert done.returncode == 0
    assert "serve" in done.stdout


@pytest.mark.parametrize("arguments", [("serve",), ("serve", "--help"), ("admin", "dump")])
def test_missing_server_extra_is_reported_with_the_fix(client_bin: Path, arguments: tuple[str, ...]) -> None:
    done = run(client_bin, *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"cloudconsole: [^\n]*pip install 'cloudconsole\[server\]'[^\n]*\n", done.stderr)


def test_client_commands_work_without_the_server_extra(client_bin: Path, server: RunningServer, tmp_path: Path) -> None:
    user_environment = CliUser(tmp_path).environment(CLOUDCONSOLE_PASSWORD=PASSWORD)
    login = run(client_bin, "login", "--url", server.base, "--username", "demo", **user_environment)
    assert (login.returncode, login.stderr) == (0, "")
    for command in ("usage", "costs", "news"):
        assert run(client_bin, command, **user_environment).returncode == 0


@pytest.mark.parametrize("words", [("us",), ("admin", "ten")])
def test_completion_works_without_the_server_extra(client_bin: Path, words: tuple[str, ...]) -> None:
    done = run(client_bin, "__complete", "fish", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (words == ("us",))


def test_few_packages_are_needed_without_the_server_extra(client_bin: Path) -> None:
    (packages,) = (client_bin.parent / "lib").glob("python*/site-packages")
    installed = {path.name.partition("-")[0] for path in packages.glob("*.dist-info")}
    http = {"httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "typing_extensions"}
    tables = {"rich", "markdown_it_py", "mdurl", "pygments"}
    assert installed <= {"cloudconsole", "msgspec"} | http | tables

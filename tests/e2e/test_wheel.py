"""The wheel: its content, and the package with only the libraries that it requires.

Nothing is downloaded or installed: a directory of symbolic links has the libraries of this environment that are locked
or required, and no others. The wheel has exactly the files of the source tree, so the source tree is run with them.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from flit_core import buildapi  # type: ignore[import-untyped]
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from cloudconsole._version import __version__
from tests.cli.users import PASSWORD, CliUser
from tests.e2e.processes import client_of, eventually
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import RunningServer, clean_environment

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
METADATA = f"cloudconsole-{__version__}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = buildapi.build_wheel(str(folder))
    with ZipFile(folder / name) as archive:
        yield archive


class Libraries:
    """A directory with some of the installed libraries."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, requirements: Iterable[Requirement], *, recursive: bool) -> None:
        """Link the required libraries and, if `recursive`, their dependencies."""
        for requirement in requirements:
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            assert not requirement.extras, "extras are not supported here"
            found = distribution(requirement.name)
            assert requirement.specifier.contains(found.version), f"{requirement}: {found.version} is installed"
            for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                if not (self._folder / name).exists():
                    (self._folder / name).symlink_to(Path(str(found.locate_file(name))))
            if recursive:
                self.add(map(Requirement, found.requires or ()), recursive=True)

    @property
    def names(self) -> set[str]:
        return {path.name.partition("-")[0] for path in self._folder.glob("*.dist-info")}

    def command(self, *arguments: str) -> list[str]:
        """Return a command that runs `cloudconsole` without the site-packages directory."""
        return [sys.executable, "-S", "-P", "-m", "cloudconsole", *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        return clean_environment(PYTHONPATH=f"{SOURCE}:{self._folder}", **more)

    def run(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*arguments),
            env=self.environment(**environment),
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=MAX_WAIT_SECONDS,
            check=False,
        )


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """All locked requirements."""
    libraries = Libraries(tmp_path_factory.mktemp("locked"))
    lines = re.findall(r"^\w[^\\\n]*", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    libraries.add(map(Requirement, lines), recursive=False)
    return libraries


@pytest.fixture(scope="module")
def plain(wheel: ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """The requirements of the wheel without extras."""
    libraries = Libraries(tmp_path_factory.mktemp("plain"))
    metadata = Metadata.from_email(wheel.read(f"{METADATA}/METADATA"))
    libraries.add(metadata.requires_dist or (), recursive=True)
    return libraries


def test_wheel_contains_exactly_the_package_and_its_metadata(wheel: ZipFile) -> None:
    source = {
        path.relative_to(SOURCE).as_posix(): path.read_bytes()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
    assert "cloudconsole/py.typed" in source
    packed = {name: wheel.read(name) for name in wheel.namelist() if not name.startswith(f"{METADATA}/")}
    assert packed == source


def test_wheel_has_entry_points_and_the_licence(wheel: ZipFile) -> None:
    entry_points = wheel.read(f"{METADATA}/entry_points.txt").decode()
    assert "[console_scripts]\ncloudconsole=cloudconsole.cli.entry:main\n" in entry_points
    assert "[pytest11]\ncloudconsole=cloudconsole.pytest_plugin\n" in entry_points
    assert any(name.endswith("LICENSE") for name in wheel.namelist())


@contextmanager
def serving(libraries: Libraries, folder: Path) -> Iterator[str]:
    """Run `cloudconsole serve --sample`; yield its address."""
    with (folder / "banner").open("w") as output, (folder / "log").open("w") as log:
        command = libraries.command("serve", "--sample", "--port", "0", "--data", "data")
        process = subprocess.Popen(command, stdout=output, stderr=log, env=libraries.environment(), cwd=folder)
    try:
        pattern = re.compile(r"Cloud Console serves on (\S+)\n")
        found = eventually(lambda: process.poll() or pattern.match((folder / "banner").read_text()))
        assert isinstance(found, re.Match), (folder / "log").read_text()
        yield found[1]
    finally:
        process.terminate()
        process.wait(MAX_WAIT_SECONDS)


def test_sample_is_served_with_the_locked_requirements(locked: Libraries, tmp_path: Path) -> None:
    with serving(locked, tmp_path) as base, client_of(base) as client:
        assert client.login().status == 200
        assert client.call("GetUsageLimits").data["totalInstancesUsed"] == 4


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("--version",), f"cloudconsole {__version__}\n"),
        (("__complete", "bash", "cloudconsole", "cloudconsole admin ten"), "tenant\n"),
    ],
    ids=["version", "completion"],
)
def test_other_commands_work_without_the_server_extra(
    plain: Libraries, arguments: tuple[str, ...], output: str
) -> None:
    done = plain.run(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


@pytest.mark.parametrize("arguments", [("serve", "--help"), ("admin", "dump")])
def test_missing_server_extra_is_reported_with_the_fix(plain: Libraries, arguments: tuple[str, ...]) -> None:
    done = plain.run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"cloudconsole: [^\n]*pip install 'cloudconsole\[server\]'[^\n]*\n", done.stderr)


def test_client_commands_work_without_the_server_extra(plain: Libraries, server: RunningServer, tmp_path: Path) -> None:
    environment = CliUser(tmp_path).environment(CLOUDCONSOLE_PASSWORD=PASSWORD)
    login = plain.run("login", "--url", server.base, "--username", "demo", **environment)
    assert (login.returncode, login.stderr) == (0, "")
    assert plain.run("usage", **environment).returncode == 0


def test_few_packages_are_needed_without_the_server_extra(plain: Libraries) -> None:
    http = {"httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "typing_extensions"}
    tables = {"rich", "markdown_it_py", "mdurl", "pygments"}
    assert plain.names <= {"jmespath", "msgspec"} | http | tables

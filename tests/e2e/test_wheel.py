"""The wheel: what is in it, and what it does in an environment that has nothing else of ours.

What it needs from others is not fetched once more: links show such an environment those libraries of this one that are
locked, or that the wheel asks for, and no others.
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
from tests.cli.users import PASSWORD, Person
from tests.e2e.processes import eventually
from tests.harness import Caller, OverHttp, RunningServer, clean_environment

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SHIPPED = ("src", "requirements", "pyproject.toml", "README.md", "LICENSE")


def pip(*arguments: str, python: Path | None = None) -> None:
    """pip, of this environment or, from outside, for another one."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    if python is not None:
        command += ["--python", str(python)]
    done = subprocess.run(
        [*command, *arguments], env=clean_environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the tree."""
    tree, place = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / name)
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", str(place), str(tree))
    (built,) = place.iterdir()
    return built


class Environment:
    """A new virtual environment, without even pip, with the wheel alone."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, with_pip=False)
        self.bin = folder / "bin"
        (self._packages,) = (folder / "lib").glob("python*/site-packages")
        pip("install", "--no-compile", "--no-index", "--no-deps", str(wheel), python=self.bin / "python")

    @property
    def asked_for(self) -> list[str]:
        """What the wheel asks for, with its extras or without."""
        (ours,) = distributions(name="cloudconsole", path=[str(self._packages)])
        return ours.requires or []

    def add(self, lines: Iterable[str], *, with_theirs: bool) -> None:
        """The libraries that these lines ask for and, `with_theirs`, those that these ask for in turn."""
        for requirement in map(Requirement, lines):
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            assert not requirement.extras, "followed here by nobody"
            found = distribution(requirement.name)
            assert requirement.specifier.contains(found.version), f"{requirement}: here it is {found.version}"
            for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                if not (self._packages / name).exists():
                    (self._packages / name).symlink_to(Path(str(found.locate_file(name))))
            if with_theirs:
                self.add(found.requires or (), with_theirs=True)


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the locked requirements and the wheel; its bin folder."""
    environment = Environment(tmp_path_factory.mktemp("full"), wheel)
    locked = re.findall(r"^\w[^\\\n]*", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    environment.add(locked, with_theirs=False)
    return environment.bin


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it asks for without its extras; its bin folder."""
    environment = Environment(tmp_path_factory.mktemp("plain"), wheel)
    environment.add(environment.asked_for, with_theirs=True)
    return environment.bin


def run(place: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [place / "cloudconsole", *arguments],
        env=clean_environment(**environment),
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def serving(place: Path, folder: Path) -> Iterator[str]:
    """`cloudconsole serve --sample` of an environment; gives its address."""
    banner = folder / "banner"
    with banner.open("w") as output, (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [place / "cloudconsole", "serve", "--sample", "--port", "0", "--data", "data"],
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
def names(wheel: Path) -> set[str]:
    """What is in the wheel."""
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
def test_the_wheel_has(names: set[str], name: str) -> None:
    assert f"cloudconsole/{name}" in names


def test_the_wheel_has_all_of_the_package(names: set[str]) -> None:
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name and ".egg-info" not in name} <= names


def test_the_wheel_has_nothing_but_the_package_and_its_description(names: set[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {"cloudconsole", f"cloudconsole-{__version__}.dist-info"}


def test_the_wheel_tells_pytest_of_the_plugin(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        entry_points = archive.read(f"cloudconsole-{__version__}.dist-info/entry_points.txt").decode()
    assert "[pytest11]\ncloudconsole=cloudconsole.pytest_plugin\n" in entry_points


def test_the_wheel_has_the_licence(names: set[str]) -> None:
    assert any(name.endswith("LICENSE") for name in names)


def test_installed_it_tells_its_version(full: Path) -> None:
    done = run(full, "--version")
    assert (done.returncode, done.stdout) == (0, f"cloudconsole {__version__}\n")


def test_installed_it_is_not_the_tree(full: Path) -> None:
    code = "import cloudconsole; print(cloudconsole.__file__)"
    done = subprocess.run([full / "python", "-c", code], cwd=full, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(full.parent)


def test_installed_it_serves_the_sample(full: Path, tmp_path: Path) -> None:
    with serving(full, tmp_path) as base:
        wire = OverHttp(base)
        caller = Caller(wire)
        assert caller.login().status == 200
        assert caller.call("GetUsageLimits").data["totalInstancesUsed"] == 4
        wire.close()


def test_without_the_server_it_tells_its_version(plain: Path) -> None:
    done = run(plain, "--version")
    assert (done.returncode, done.stdout) == (0, f"cloudconsole {__version__}\n")


def test_without_the_server_it_shows_its_help(plain: Path) -> None:
    done = run(plain, "--help")
    assert done.returncode == 0
    assert "serve" in done.stdout


@pytest.mark.parametrize("arguments", [("serve",), ("serve", "--help"), ("admin", "dump")])
def test_without_the_server_it_says_in_one_line_what_mends_it(plain: Path, arguments: tuple[str, ...]) -> None:
    done = run(plain, *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"cloudconsole: [^\n]*pip install 'cloudconsole\[server\]'[^\n]*\n", done.stderr)


def test_without_the_server_it_calls_a_console(plain: Path, server: RunningServer, tmp_path: Path) -> None:
    person = Person(tmp_path).environment(CLOUDCONSOLE_PASSWORD=PASSWORD)
    login = run(plain, "login", "--url", server.base, "--username", "demo", **person)
    assert (login.returncode, login.stderr) == (0, "")
    for command in ("usage", "costs", "news"):
        assert run(plain, command, **person).returncode == 0


@pytest.mark.parametrize("words", [("us",), ("admin", "ten")])
def test_without_the_server_words_are_completed_as_far_as_they_can_be(plain: Path, words: tuple[str, ...]) -> None:
    done = run(plain, "__complete", "fish", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (words == ("us",))


def test_without_the_server_it_needs_few_packages(plain: Path) -> None:
    (packages,) = (plain.parent / "lib").glob("python*/site-packages")
    installed = {path.name.partition("-")[0] for path in packages.glob("*.dist-info")}
    http = {"httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "typing_extensions"}
    tables = {"rich", "markdown_it_py", "mdurl", "pygments"}
    assert installed <= {"cloudconsole", "msgspec"} | http | tables

"""The package as its users see it: what an import costs, what strict type checking says, what is public."""

import subprocess
import sys
from pathlib import Path

import pytest

import cloudconsole
from cloudconsole import client
from tests.harness import clean_environment

USE = """
from decimal import Decimal
from cloudconsole import AsyncConsole, Console, ConsoleError, RateLimited


def spend(base: str) -> Decimal:
    with Console(base, username="demo", password=lambda: "secret") as console:
        free: int | None = console.usage_limits().instances.free
        sizes: dict[int, tuple[int, ...]] = console.flavors().choices()
        try:
            return console.consumption().total.month + (free or len(sizes))
        except RateLimited as busy:
            raise SystemExit(busy.retry_after) from busy


async def titles(base: str) -> list[str]:
    async with AsyncConsole(base, region="r") as console:
        return [item.title.upper() for item in await console.news() if item.date.year > 2000]
"""
WRONG = """
from cloudconsole import Console, Misspelled
Console("http://x").domain(7)
Console("http://x").usage_limits().instances.limit + 1
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder, where mypy keeps what it has found out about the packages."""
    return tmp_path_factory.mktemp("project")


def mypy(project: Path, program: str) -> "subprocess.CompletedProcess[str]":
    (project / "use.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "use.py"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=300, check=False)


def test_a_users_project_passes_strict_type_checking(project: Path) -> None:
    done = mypy(project, USE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_and_its_mistakes_are_found(project: Path) -> None:
    done = mypy(project, WRONG)
    assert "Found 3 errors" in done.stdout, done.stdout


def loaded_by(program: str) -> set[str]:
    """The packages that a program of these lines loads."""
    listing = f"{program}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}}, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", listing], env=clean_environment(), capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


def test_the_package_itself_loads_nothing() -> None:
    assert loaded_by("import cloudconsole") & {"httpx2", "msgspec", "rich", "cloudconsole.client"} == set()


def test_the_client_loads_nothing_of_the_server() -> None:
    ours = {name for name in loaded_by("from cloudconsole import Console") if name.startswith("cloudconsole.")}
    assert {name.split(".")[1] for name in ours} == {"_version", "client", "spec"}


@pytest.mark.parametrize("name", client.__all__)
def test_all_of_the_client_is_in_the_package(name: str) -> None:
    assert getattr(cloudconsole, name) is getattr(client, name)
    assert name in dir(cloudconsole)


def test_what_awaiting_takes_is_loaded_by_those_who_await() -> None:
    assert "anyio" not in loaded_by("from cloudconsole import Console")
    assert "anyio" in loaded_by("from cloudconsole import AsyncConsole")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="Misspelled"):
        getattr(cloudconsole, "Misspelled")  # noqa: B009

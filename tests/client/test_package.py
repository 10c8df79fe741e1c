"""The package as its users see it: import cost, strict type checking, public names."""

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
    """A user's project directory, with mypy's cache."""
    return tmp_path_factory.mktemp("project")


def mypy(project: Path, program: str) -> "subprocess.CompletedProcess[str]":
    (project / "use.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "use.py"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=300, check=False)


def test_a_users_project_passes_strict_type_checking(project: Path) -> None:
    done = mypy(project, USE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_type_errors_of_a_users_project_are_found(project: Path) -> None:
    done = mypy(project, WRONG)
    assert "Found 3 errors" in done.stdout, done.stdout


def loaded_by(program: str) -> set[str]:
    """The modules and top-level packages that a program imports."""
    listing = f"{program}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}}, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", listing], env=clean_environment(), capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_no_dependencies() -> None:
    assert loaded_by("import cloudconsole") & {"httpx2", "msgspec", "rich", "cloudconsole.client"} == set()


def test_the_client_does_not_load_the_server() -> None:
    ours = {name for name in loaded_by("from cloudconsole import Console") if name.startswith("cloudconsole.")}
    assert {name.split(".")[1] for name in ours} == {"_version", "client", "spec"}


@pytest.mark.parametrize("name", client.__all__)
def test_public_client_names_are_in_the_package(name: str) -> None:
    assert getattr(cloudconsole, name) is getattr(client, name)
    assert name in dir(cloudconsole)


def test_anyio_is_loaded_only_for_the_async_client() -> None:
    assert "anyio" not in loaded_by("from cloudconsole import Console")
    assert "anyio" in loaded_by("from cloudconsole import AsyncConsole")


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Misspelled"):
        getattr(cloudconsole, "Misspelled")  # noqa: B009

"""The package as its users see it: import cost, strict type checking, public names."""

import subprocess
import sys
from pathlib import Path

import pytest

import cloudconsole
from cloudconsole import AsyncConsole, client
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
Console("http://x").estimate([{"res_type": "volume", "gigabytes": 5}])
Console("http://x").estimate([{"res_type": "router"}])
"""


def test_a_users_project_is_type_checked(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "use.py", "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert "Found 5 errors in 1 file (checked 2 source files)" in done.stdout, done.stdout + done.stderr
    assert "use.py" not in done.stdout


def loaded_by(program: str) -> set[str]:
    """The modules and top-level packages that a program imports."""
    listing = f"{program}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}}, *sys.modules)"
    command, environment = [sys.executable, "-c", listing], clean_environment()
    return set(subprocess.check_output(command, env=environment, text=True, timeout=600).split())


def test_importing_the_package_loads_no_dependencies() -> None:
    assert loaded_by("import cloudconsole") & {"httpx2", "msgspec", "rich", "cloudconsole.client"} == set()


def test_the_sync_client_loads_neither_the_server_nor_anyio() -> None:
    loaded = loaded_by("from cloudconsole import Console")
    ours = {name for name in loaded if name.startswith("cloudconsole.")}
    assert {name.split(".")[1] for name in ours} == {"_version", "client", "spec"}
    assert "anyio" not in loaded


@pytest.mark.parametrize("name", client.__all__)
def test_public_client_names_are_in_the_package(name: str) -> None:
    assert getattr(cloudconsole, name) is getattr(client, name)
    assert name in dir(cloudconsole)


@pytest.mark.parametrize("kind", [*(getattr(client, name) for name in client.__all__), AsyncConsole])
def test_public_classes_and_methods_have_docstrings(kind: type) -> None:
    members = {name: member for name, member in vars(kind).items() if not name.startswith("_")}
    documented = {name for name, member in members.items() if getattr(member, "__doc__", None)}
    methods = {name for name, member in members.items() if callable(member) or isinstance(member, property)}
    assert kind.__doc__
    assert methods - documented == set()


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Misspelled"):
        getattr(cloudconsole, "Misspelled")  # noqa: B009

"""The request path uses public interfaces of other packages only: a renamed private name would silently end a limit."""

import ast
import sys
from pathlib import Path
from typing import Final

import pytest

import cloudconsole.server

SERVER: Final = Path(cloudconsole.server.__file__).parent
MODULES: Final = sorted([*SERVER.glob("http/*.py"), *SERVER.glob("runtime/*.py"), SERVER / "app.py"])


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return the names that a module imports from other packages, and from asyncio."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(each.asname or each.name).partition(".")[0]: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    own = (sys.stdlib_module_names - {"asyncio"}) | {"cloudconsole"}
    return {name: origin for name, origin in found.items() if origin.partition(".")[0] not in own}


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def private_uses(tree: ast.Module) -> list[str]:
    names = imported_names(tree)
    uses = [origin for origin in names.values() if is_private(origin)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id in names:
                uses.append(ast.unparse(node))
    return uses


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_no_private_name_of_another_package_is_used(module: Path) -> None:
    assert private_uses(ast.parse(module.read_text())) == []


@pytest.mark.parametrize(
    "code", ["import asyncio\nasyncio.tasks._enter_task", "from httptools import _parser", "import uvloop._x"]
)
def test_private_names_are_found(code: str) -> None:
    assert len(private_uses(ast.parse(code))) == 1


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_only_abstract_protocols_are_extended(module: Path) -> None:
    """A subclass of a concrete class of another package depends on how that calls its own methods."""
    tree = ast.parse(module.read_text())
    names = imported_names(tree)
    bases = {ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
    assert {base for base in bases if base.partition(".")[0] in names} <= {"asyncio.Protocol", "Struct"}

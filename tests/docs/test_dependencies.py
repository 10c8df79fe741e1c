"""pyproject.toml declares the packages that the code imports, with minimum versions tested by `make test-versions`."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
TEST_GROUP = PYPROJECT["dependency-groups"]["test"]
EXTRAS = PROJECT["optional-dependencies"].values()
RUNTIME = [*PROJECT["dependencies"], *(line for lines in EXTRAS for line in lines)]

PINNED_TRANSITIVELY = {"pydantic-core"}
"""pydantic requires one exact version of it."""

PLUGIN_HOSTS = {"pytest"}
"""Users of the pytest plugin have pytest installed."""


def _imported() -> Iterator[str]:
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield node.module.partition(".")[0]


def test_every_imported_package_is_declared() -> None:
    packages = set(_imported()) - sys.stdlib_module_names - {"cloudconsole"}
    distributions = packages_distributions()
    needed = {canonicalize_name(distributions[package][0]) for package in packages}
    declared = {canonicalize_name(Requirement(line).name) for line in RUNTIME}
    assert needed - PINNED_TRANSITIVELY - PLUGIN_HOSTS <= declared


def test_every_declared_minimum_is_tested() -> None:
    """Fails if a minimum is changed without `make lock`."""
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements/lowest.txt").read_text(), re.MULTILINE))
    for requirement in map(Requirement, RUNTIME + TEST_GROUP):
        (minimum,) = (each.version for each in requirement.specifier if each.operator == ">=")
        version = locked[canonicalize_name(requirement.name)]
        assert version == minimum or version.startswith(f"{minimum}."), requirement


def test_classifiers_list_the_tested_versions() -> None:
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    later = re.search(r"^later=\((.*)\)$", (ROOT / "tests/versions/run").read_text(), re.MULTILINE)
    assert later
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert versions[0] == lowest
    assert set(versions[1:]) <= set(later[1].split())


def test_every_dependency_is_explained() -> None:
    dev = [line for line in PYPROJECT["dependency-groups"]["dev"] if isinstance(line, str)]
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Dependencies")[2].lower()
    for name in (Requirement(line).name for line in RUNTIME + TEST_GROUP + dev):
        assert name.lower() in table

"""How a full run ended, from pytest's own reports, written where everybody can read it: `run --full` calls this."""

import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from lab.cloud import Lab

from cloudconsole._version import __version__

RECORD = Path(__file__).parents[2] / "docs/internals/openstack-tests.md"
SERVICES = ("keystone", "nova", "openstack-placement", "cinder", "glance", "neutron", "octavia", "openstacksdk")
OUTCOMES = ("passed", "failure", "error", "skipped")


class Test(NamedTuple):
    module: str
    name: str
    outcome: str


def tests_of(reports: Iterable[Path]) -> list[Test]:
    cases = (case for report in reports for case in ET.parse(report).iter("testcase"))
    return [Test(_module(case), case.get("name", ""), _outcome(case)) for case in cases]


def seconds_of(reports: Iterable[Path]) -> float:
    return sum(float(suite.get("time", 0)) for report in reports for suite in ET.parse(report).iter("testsuite"))


def page(lab: Lab, tests: list[Test], seconds: float) -> str:
    counts = Counter(test.outcome for test in tests)
    modules = sorted({test.module for test in tests})
    versions = ", ".join(f"{name} {version}" for name, version in versions_in(lab).items())
    not_well = [f"- `{test.module}::{test.name}`" for test in tests if test.outcome in ("failure", "error")]
    lines = [
        "# The last full run of the tests on a real OpenStack",
        "",
        "Written by `make test-openstack-full`.",
        "",
        "| | |",
        "|---|---|",
        f"| when | {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC |",
        f"| console | {__version__}, Python {platform.python_version()} on {platform.machine()} |",
        f"| regions | {', '.join(lab.regions)} |",
        f"| OpenStack | {versions} |",
        f"| seconds | {seconds:.0f}, without the cloud's start |",
        *(f"| {name} | {counts[name]} |" for name in OUTCOMES),
        "",
        "| module | tests |",
        "|---|---|",
        *(f"| {module} | {_counted(tests, module)} |" for module in modules),
        *(["", "Not well:", "", *not_well] if not_well else []),
    ]
    return "\n".join(lines) + "\n"


def versions_in(lab: Lab) -> dict[str, str]:
    """The versions of what runs in the lab."""
    places = [str(folder) for folder in lab.plan.venv.glob("lib/python*/site-packages")]
    installed = {found.name: found.version for found in distributions(path=places)}
    return {name.removeprefix("openstack-"): installed[name] for name in SERVICES if name in installed}


def _module(case: ET.Element) -> str:
    parts = case.get("classname", "").split(".")
    return next((part for part in parts if part.startswith("test_")), "?")


def _outcome(case: ET.Element) -> str:
    return next((child.tag for child in case if child.tag in OUTCOMES), "passed")


def _counted(tests: list[Test], module: str) -> str:
    counts = Counter(test.outcome for test in tests if test.module == module)
    return ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])


if __name__ == "__main__":
    made = [Path(name) for name in sys.argv[1:]]
    RECORD.write_text(page(Lab.open(Path(os.environ["LAB"])), tests_of(made), seconds_of(made)))

"""A lab plan that is never started."""

from pathlib import Path

import pytest
from lab.plan import REGIONS, Plan

from lab import ports, services


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path, tmp_path / "venv", REGIONS, ports.allocate(services.port_names(REGIONS)))

"""Migration commands."""

import pytest
from lab.errors import LabError
from lab.plan import Plan
from lab.processes import Records

from lab import bootstrap


def test_a_failed_command_reports_its_output_and_is_no_longer_recorded(plan: Plan) -> None:
    with pytest.raises(LabError, match=r"command failed: /bin/sh(.|\n)*no such table"):
        bootstrap.run_command(plan, ["/bin/sh", "-c", "echo no such table; exit 1"])
    assert Records(plan.folder).all() == {}


def test_a_running_command_is_recorded(plan: Plan) -> None:
    record = Records(plan.folder).folder / "migrations" / "sh.json"
    bootstrap.run_command(plan, ["/bin/sh", "-c", f"while [ ! -s {record} ]; do sleep 0.01; done"])
    assert Records(plan.folder).all() == {}

"""Commands that make databases."""

import pytest
from lab.errors import LabFailed
from lab.plan import Plan
from lab.processes import Records

from lab import making


def test_a_command_that_fails_says_why_and_is_off_the_record(plan: Plan) -> None:
    with pytest.raises(LabFailed, match=r"This failed: /bin/sh(.|\n)*no such table"):
        making.run(plan, ["/bin/sh", "-c", "echo no such table; exit 1"])
    assert Records(plan.folder).all() == {}


def test_a_command_is_on_record_while_it_runs(plan: Plan) -> None:
    record = Records(plan.folder).folder / "migrations" / "sh.json"
    making.run(plan, ["/bin/sh", "-c", f"while [ ! -s {record} ]; do sleep 0.01; done"])
    assert Records(plan.folder).all() == {}

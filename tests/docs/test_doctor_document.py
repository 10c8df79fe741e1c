"""The doctor's page lists every check there is, in their order."""

from pathlib import Path

from cloudconsole.server.doctor.runner import CHECKS

DOCTOR = (Path(__file__).parents[2] / "docs/operations/doctor.md").read_text()


def test_every_check_is_documented() -> None:
    rows = [line.split("|")[1].strip() for line in DOCTOR.splitlines() if line.startswith("|")]
    # What a check looks at on PostgreSQL may have a row of its own.
    names = dict.fromkeys(row.partition(", on ")[0] for row in rows[2:])
    assert list(names) == list(CHECKS)

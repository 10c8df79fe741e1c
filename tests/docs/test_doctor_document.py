"""The page on the doctor lists every check, in order."""

from pathlib import Path

from cloudconsole.server.doctor.runner import CHECKS

DOCTOR = (Path(__file__).parents[2] / "docs/operations/doctor.md").read_text()


def test_every_check_is_documented() -> None:
    rows = [line.split("|")[1].strip() for line in DOCTOR.splitlines() if line.startswith("|")]
    # A check may have a separate row for PostgreSQL.
    names = dict.fromkeys(row.partition(", on ")[0] for row in rows[2:])
    assert list(names) == list(CHECKS)

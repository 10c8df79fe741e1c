"""The page on monitoring matches the metrics and the log."""

from pathlib import Path

from cloudconsole.server.audit_log import RECORDS_PER_SECOND
from cloudconsole.server.metrics.definitions import FAMILIES, PREFIX
from cloudconsole.server.metrics.layout import GONE, OPERATIONS
from cloudconsole.spec.actions import ACTIONS

DOCUMENT = (Path(__file__).parents[2] / "docs/operations/monitoring.md").read_text()


def test_table_lists_exactly_the_existing_metrics() -> None:
    table = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in DOCUMENT.splitlines()
        if line.startswith(f"| `{PREFIX}")
    ]
    assert table == [
        (f"`{PREFIX}{family.name}`", family.type, ", ".join(f"`{label}`" for label in family.labels), family.help)
        for family in FAMILIES
    ]


def test_every_operation_is_explained() -> None:
    for name in {*OPERATIONS, GONE} - {action.name for action in ACTIONS}:
        assert f"`{name}`" in DOCUMENT


def test_limit_of_log_lines_is_documented() -> None:
    assert f"at most {RECORDS_PER_SECOND} lines a second" in DOCUMENT

"""The alert rules use existing metrics, labels and runbook sections."""

import re

import pytest

from cloudconsole.backends.openstack.config import SERVICES
from cloudconsole.server.metrics import layout
from cloudconsole.server.metrics.definitions import FAMILIES, PREFIX
from tests.deploy.alert_rules import FILE, read_rules

RULES = read_rules()
RUNBOOK = "docs/operations/runbook.md"
SUFFIXES = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("",), "gauge": ("",)}
SAMPLES = {PREFIX + family.name + suffix: family for family in FAMILIES for suffix in SUFFIXES[family.type]}
VALUES = {
    "operation": layout.OPERATIONS,
    "outcome": layout.OUTCOMES,
    "reason": layout.REJECTIONS,
    "service": SERVICES,
    "job": ("cloudconsole",),
}


def metrics_of(expression: str) -> list[tuple[str, str]]:
    """Return each metric with its label matchers."""
    return re.findall(r"\b(cloudconsole_\w+|up)\b(?:\{(.*?)\})?", expression)


@pytest.mark.parametrize("alert", RULES)
def test_every_metric_and_label_value_exists(alert: str) -> None:
    expression = re.sub(r'job="cloudconsole"', "", RULES[alert]["expr"])
    found = metrics_of(expression)
    assert found
    for name, braces in found:
        if name == "up":
            continue
        family = SAMPLES[name]
        for label, values in re.findall(r'(\w+)[=!]~?"(.*?)"', braces):
            assert label in family.labels
            assert set(values.split("|")) <= set(VALUES[label])


@pytest.mark.parametrize("alert", RULES)
def test_every_alert_has_a_severity_and_links_to_its_runbook_section(alert: str) -> None:
    assert RULES[alert]["labels"]["severity"] in ("critical", "warning")
    assert set(RULES[alert]["annotations"]) == {"summary", "description", "runbook"}
    assert RULES[alert]["annotations"]["runbook"] == f"{RUNBOOK}#{alert.lower()}"


def test_runbook_has_a_section_for_each_alert() -> None:
    assert re.findall(r"^## (.*)$", (FILE.parents[2] / RUNBOOK).read_text(), re.MULTILINE) == list(RULES)

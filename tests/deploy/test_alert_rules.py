"""The alert rules use existing metrics, labels and runbook sections."""

import re

import pytest

from cloudconsole.backends.openstack.config import SERVICES
from cloudconsole.server.metrics import layout
from cloudconsole.server.metrics.definitions import FAMILIES, PREFIX
from tests.deploy.alert_rules import FILE, read_rules

RULES = read_rules()
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
def test_rates_are_used_for_counters_and_only_for_counters(alert: str) -> None:
    for name, _ in metrics_of(RULES[alert]["expr"]):
        is_cumulative = name != "up" and SAMPLES[name].type in ("counter", "histogram")
        assert bool(re.search(rf"(rate|increase)\(\s*{name}\b", RULES[alert]["expr"])) == is_cumulative


@pytest.mark.parametrize("alert", RULES)
def test_every_alert_has_a_severity_and_annotations(alert: str) -> None:
    assert alert.startswith("CloudConsole")
    assert RULES[alert]["labels"]["severity"] in ("critical", "warning")
    assert set(RULES[alert]["annotations"]) == {"summary", "description", "runbook"}


@pytest.mark.parametrize("alert", RULES)
def test_every_alert_links_to_its_runbook_section(alert: str) -> None:
    path, _, anchor = RULES[alert]["annotations"]["runbook"].partition("#")
    assert anchor == alert.lower()
    assert f"\n## {alert}\n" in (FILE.parents[2] / path).read_text()


def test_runbook_has_no_other_alerts() -> None:
    runbook = (FILE.parents[2] / "docs/operations/runbook.md").read_text()
    assert re.findall(r"^## (.*)$", runbook, re.MULTILINE) == list(RULES)

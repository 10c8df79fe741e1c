"""The alert rules match the exported metrics."""

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
    "call": layout.CALLS,
    "outcome": layout.OUTCOMES,
    "reason": layout.REFUSALS,
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
    for name, matchers in found:
        if name == "up":
            continue
        family = SAMPLES[name]
        for label, values in re.findall(r'(\w+)[=!]~?"(.*?)"', matchers):
            assert label in family.labels
            assert set(values.split("|")) <= set(VALUES[label])


@pytest.mark.parametrize("alert", RULES)
def test_rates_are_used_for_counters_and_only_for_counters(alert: str) -> None:
    for name, _ in metrics_of(RULES[alert]["expr"]):
        is_counter = name != "up" and SAMPLES[name].type in ("counter", "histogram")
        assert bool(re.search(rf"(rate|increase)\(\s*{name}\b", RULES[alert]["expr"])) == is_counter


@pytest.mark.parametrize("alert", RULES)
def test_every_alert_has_a_severity_and_a_description(alert: str) -> None:
    assert alert.startswith("CloudConsole")
    assert RULES[alert]["labels"]["severity"] in ("critical", "warning")
    assert set(RULES[alert]["annotations"]) == {"summary", "description"}


def test_every_metric_recommended_for_alerting_has_an_alert() -> None:
    document = (FILE.parents[2] / "docs/observability.md").read_text()
    recommended = set(
        re.findall(r"cloudconsole_\w+", document.partition("What is worth an alert:")[2].partition("\n\n")[0])
    )
    assert recommended
    assert recommended <= {name for rule in RULES.values() for name, _ in metrics_of(rule["expr"])}

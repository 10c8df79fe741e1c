"""The alert rules under promtool: each fires when it should, and only then."""

import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from cloudconsole.server.metrics.layout import ADMIN_UI, LOGIN, LOGOUT, OPERATOR_LOGIN, OPERATOR_LOGOUT
from tests.deploy.alert_rules import FILE, read_context

RULES = read_context()
LABELS = 'job="cloudconsole",instance="a:9464"'
"""Labels of the replica in the test."""

Series = dict[str, str]


def rising(per_minute: float) -> str:
    return f"0+{per_minute}x120"


def steady(value: float) -> str:
    return f"{value}x120"


def durations(metric: str, labels: str, *, fast: float, slow: float) -> Series:
    """Return a histogram with these numbers of fast and slow requests per minute."""
    return {
        f'{metric}_bucket{{{labels},le="0.001"}}': rising(fast),
        f'{metric}_bucket{{{labels},le="2.5"}}': rising(fast + slow),
        f'{metric}_bucket{{{labels},le="+Inf"}}': rising(fast + slow),
        f"{metric}_count{{{labels}}}": rising(fast + slow),
    }


def slow_operations(*operations: str) -> Series:
    """Return 900 slow requests per minute for each operation."""
    metric = "cloudconsole_request_duration_seconds"
    each = [durations(metric, f'{LABELS},operation="{operation}"', fast=0, slow=900) for operation in operations]
    return {name: values for series in each for name, values in series.items()}


def rejections(reason: str, per_minute: float) -> Series:
    return {f'cloudconsole_rejections_total{{{LABELS},reason="{reason}"}}': rising(per_minute)}


REQUESTS = {f'cloudconsole_requests_total{{{LABELS},operation="GetUsageLimits",outcome="ok"}}': rising(6000)}
OPERATION_LABELS = f'{LABELS},operation="GetUsageLimits"'
UPSTREAM_LABELS = f'{LABELS},service="compute"'
REPLICA_LABELS = {"job": "cloudconsole", "instance": "a:9464"}


class Case(NamedTuple):
    fires: Series
    quiet: Series
    labels: dict[str, str] = REPLICA_LABELS
    minute: int = 20
    """When the rule is evaluated."""


def gauge(metric: str, firing: float, normal: float, values: Callable[[float], str] = steady) -> Case:
    name = f"{metric}{{{LABELS}}}"
    return Case({name: values(firing)}, {name: values(normal)})


counter = partial(gauge, values=rising)


def logins(outcome: str, per_minute: float) -> Series:
    return {f'cloudconsole_logins_total{{{LABELS},outcome="{outcome}"}}': rising(per_minute)}


def upstream(failures: float) -> Series:
    return {
        f'cloudconsole_upstream_failures_total{{{UPSTREAM_LABELS},reason="upstream_timeout"}}': rising(failures),
        **durations("cloudconsole_upstream_request_duration_seconds", UPSTREAM_LABELS, fast=100, slow=0),
    }


def versions(*each: str) -> Series:
    labels = [f'job="cloudconsole",instance="{number}",version="{version}"' for number, version in enumerate(each)]
    return {f'cloudconsole_build_info{{{replica},python="3"}}': steady(1) for replica in labels}


CASES = {
    "CloudConsoleDown": gauge("up", 0, 1),
    "CloudConsoleNotScraped": Case(
        {'up{job="another"}': steady(1)}, {f"up{{{LABELS}}}": steady(0)}, {"job": "cloudconsole"}
    ),
    "CloudConsoleChangeLeaseLost": gauge("cloudconsole_store_lease_lost_workers", 1, 0),
    "CloudConsoleStoreUnreadable": gauge("cloudconsole_store_readable", 0, 1),
    "CloudConsoleFailingRequests": Case(
        {**REQUESTS, **rejections("unavailable", 40), **rejections("upstream_failed", 40)},
        {**REQUESTS, **rejections("unavailable", 40), **rejections("login_required", 600)},
    ),
    "CloudConsoleInternalErrors": Case(
        {f'cloudconsole_rejections_total{{{LABELS},reason="internal_error"}}': "0x14 1x20"},
        {
            f'cloudconsole_rejections_total{{{LABELS},reason="internal_error"}}': "0x4 1x20",
            **rejections("not_found", 9),
        },
        {**REPLICA_LABELS, "reason": "internal_error"},
    ),
    "CloudConsoleSlow": Case(
        durations("cloudconsole_request_duration_seconds", OPERATION_LABELS, fast=900, slow=20),
        {
            **durations("cloudconsole_request_duration_seconds", OPERATION_LABELS, fast=900, slow=5),
            **slow_operations(LOGIN, LOGOUT, OPERATOR_LOGIN, OPERATOR_LOGOUT, ADMIN_UI),
        },
    ),
    "CloudConsoleLoginsRejected": Case(
        {**logins("invalid_credentials", 40), **logins("too_many_requests", 40)},
        {**logins("invalid_credentials", 40), **logins("ok", 400)},
        {"job": "cloudconsole"},
    ),
    "CloudConsoleLoginFlood": gauge("cloudconsole_password_checks_waiting", 60, 20),
    "CloudConsoleConnectionsRejected": Case(
        {
            f'cloudconsole_connection_rejections_total{{{LABELS},status="{status}"}}': rising(500)
            for status in (400, 408)
        },
        {f'cloudconsole_connection_rejections_total{{{LABELS},status="408"}}': rising(500)},
    ),
    "CloudConsoleWorkerDied": Case(
        {f'cloudconsole_worker_restarts_total{{{LABELS},reason="frozen"}}': rising(1)},
        {f'cloudconsole_worker_restarts_total{{{LABELS},reason="frozen"}}': rising(0)},
        {**REPLICA_LABELS, "reason": "frozen"},
    ),
    "CloudConsoleRestarting": counter("cloudconsole_start_time_seconds", 60, 0),
    "CloudConsoleWritesWaiting": gauge("cloudconsole_store_writes_waiting", 60, 20),
    "CloudConsoleSlowWrites": Case(
        durations("cloudconsole_store_write_duration_seconds", LABELS, fast=900, slow=20),
        durations("cloudconsole_store_write_duration_seconds", LABELS, fast=900, slow=5),
    ),
    "CloudConsoleStoreErrors": counter("cloudconsole_store_errors_total", 1, 0),
    "CloudConsoleDiskNearlyFull": gauge("cloudconsole_store_free_bytes", 0.9e9, 1.1e9),
    "CloudConsoleSheddingLoad": counter("cloudconsole_requests_shed_total", 60, 0),
    "CloudConsoleEventLoopLag": gauge("cloudconsole_event_loop_lag_max_seconds", 0.7, 0.4),
    "CloudConsoleUpstreamFailing": Case(upstream(6), upstream(4), {"job": "cloudconsole", "service": "compute"}),
    "CloudConsoleCertificateExpires": gauge("cloudconsole_certificate_expiry_seconds", 13 * 86_400, 15 * 86_400),
    "CloudConsoleVersionsDiffer": Case(
        versions("1.0", "1.0", "1.1"), versions("1.1", "1.1"), {"job": "cloudconsole"}, minute=61
    ),
}


def alert_test(alert: str, series: Series, minute: int, expected: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a test for promtool: the alerts that these series cause at this minute."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": expected}],
    }


def expected_alert(alert: str, labels: dict[str, str]) -> dict[str, Any]:
    rule = RULES[alert]
    annotations = {
        name: re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)
        for name, text in rule["annotations"].items()
    }
    return {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": annotations}


def test_every_alert_has_a_case() -> None:
    assert set(CASES) == set(RULES)


@pytest.mark.parametrize("alert", CASES)
def test_alert_fires_above_its_threshold_and_after_its_duration(alert: str, tmp_path: Path) -> None:
    case = CASES[alert]
    tests = [
        alert_test(alert, case.fires, case.minute, [expected_alert(alert, case.labels)]),
        alert_test(alert, case.quiet, case.minute, []),
    ]
    if "for" in RULES[alert]:
        # The condition has to last; a minute earlier there is no alert.
        number, unit = re.fullmatch(r"(\d+)([mh])", RULES[alert]["for"]).groups()  # type: ignore[union-attr]
        tests.append(alert_test(alert, case.fires, int(number) * {"m": 1, "h": 60}[unit] - 1, []))
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(FILE)], "tests": tests}))
    result = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr

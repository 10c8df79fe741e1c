"""The alert rules before Prometheus' own judge: each fires when it should, and is quiet when it need not."""

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from cloudconsole.server.metrics.layout import ADMIN_UI, LOGIN, LOGOUT, OPERATOR_LOGIN, OPERATOR_LOGOUT
from tests.deploy.alert_rules import FILE, read_rules

RULES = read_rules()
AT = 'job="cloudconsole",instance="a:9464"'
"""Of the replica that is looked at."""

Series = dict[str, str]


def rising(each_minute: float) -> str:
    return f"0+{each_minute}x120"


def steady(value: float) -> str:
    return f"{value}x120"


def durations(metric: str, labels: str, *, quick: float, slow: float) -> Series:
    """A histogram of calls, so many quick and so many slow ones a minute."""
    return {
        f'{metric}_bucket{{{labels},le="0.001"}}': rising(quick),
        f'{metric}_bucket{{{labels},le="2.5"}}': rising(quick + slow),
        f'{metric}_bucket{{{labels},le="+Inf"}}': rising(quick + slow),
        f"{metric}_count{{{labels}}}": rising(quick + slow),
    }


def slow_calls(*calls: str) -> Series:
    """Nine hundred slow ones a minute of each."""
    metric = "cloudconsole_request_duration_seconds"
    each = [durations(metric, f'{AT},operation="{call}"', quick=0, slow=900) for call in calls]
    return {name: values for series in each for name, values in series.items()}


def refused(reason: str, each_minute: float) -> Series:
    return {f'cloudconsole_rejections_total{{{AT},reason="{reason}"}}': rising(each_minute)}


CALLS = {f'cloudconsole_requests_total{{{AT},operation="GetUsageLimits",outcome="ok"}}': rising(6000)}
CALL_SECONDS = f'{AT},operation="GetUsageLimits"'
UPSTREAM = f'{AT},service="compute"'


OF_THE_REPLICA = {"job": "cloudconsole", "instance": "a:9464"}


class Case(NamedTuple):
    fires: Series
    quiet: Series
    labels: dict[str, str] = OF_THE_REPLICA
    minute: int = 20
    """When it is looked."""


def gauge(metric: str, too_much: float, enough: float) -> Case:
    name = f"{metric}{{{AT}}}"
    return Case({name: steady(too_much)}, {name: steady(enough)})


def counter(metric: str, too_much: float, enough: float) -> Case:
    name = f"{metric}{{{AT}}}"
    return Case({name: rising(too_much)}, {name: rising(enough)})


def logins(outcome: str, each_minute: float) -> Series:
    return {f'cloudconsole_logins_total{{{AT},outcome="{outcome}"}}': rising(each_minute)}


def upstream(failures: float) -> Series:
    return {
        f'cloudconsole_upstream_failures_total{{{UPSTREAM},reason="upstream_timeout"}}': rising(failures),
        **durations("cloudconsole_upstream_request_duration_seconds", UPSTREAM, quick=100, slow=0),
    }


def versions(*each: str) -> Series:
    labels = [f'job="cloudconsole",instance="{number}",version="{version}"' for number, version in enumerate(each)]
    return {f'cloudconsole_build_info{{{of_one},python="3"}}': steady(1) for of_one in labels}


CASES = {
    "CloudConsoleDown": gauge("up", 0, 1),
    "CloudConsoleNotScraped": Case(
        {'up{job="another"}': steady(1)}, {f"up{{{AT}}}": steady(0)}, {"job": "cloudconsole"}
    ),
    "CloudConsoleChangeLeaseLost": gauge("cloudconsole_store_lease_lost_workers", 1, 0),
    "CloudConsoleStoreUnreadable": gauge("cloudconsole_store_readable", 0, 1),
    "CloudConsoleFailingRequests": Case(
        {**CALLS, **refused("unavailable", 40), **refused("upstream_failed", 40)},
        {**CALLS, **refused("unavailable", 40), **refused("login_required", 600)},
    ),
    "CloudConsoleInternalErrors": Case(
        {f'cloudconsole_rejections_total{{{AT},reason="internal_error"}}': "0x14 1x20"},
        {f'cloudconsole_rejections_total{{{AT},reason="internal_error"}}': "0x4 1x20", **refused("not_found", 9)},
        {**OF_THE_REPLICA, "reason": "internal_error"},
    ),
    "CloudConsoleSlow": Case(
        durations("cloudconsole_request_duration_seconds", CALL_SECONDS, quick=900, slow=20),
        {
            **durations("cloudconsole_request_duration_seconds", CALL_SECONDS, quick=900, slow=5),
            **slow_calls(LOGIN, LOGOUT, OPERATOR_LOGIN, OPERATOR_LOGOUT, ADMIN_UI),
        },
    ),
    "CloudConsoleLoginsRejected": Case(
        {**logins("invalid_credentials", 40), **logins("too_many_requests", 40)},
        {**logins("invalid_credentials", 40), **logins("ok", 400)},
        {"job": "cloudconsole"},
    ),
    "CloudConsoleLoginFlood": gauge("cloudconsole_password_checks_waiting", 60, 20),
    "CloudConsoleConnectionsRejected": Case(
        {f'cloudconsole_connection_rejections_total{{{AT},status="{status}"}}': rising(500) for status in (400, 408)},
        {f'cloudconsole_connection_rejections_total{{{AT},status="408"}}': rising(500)},
    ),
    "CloudConsoleWorkerDied": Case(
        {f'cloudconsole_worker_restarts_total{{{AT},reason="frozen"}}': rising(1)},
        {f'cloudconsole_worker_restarts_total{{{AT},reason="frozen"}}': rising(0)},
        {**OF_THE_REPLICA, "reason": "frozen"},
    ),
    "CloudConsoleRestarting": counter("cloudconsole_start_time_seconds", 60, 0),
    "CloudConsoleWritesWaiting": gauge("cloudconsole_store_writes_waiting", 60, 20),
    "CloudConsoleSlowWrites": Case(
        durations("cloudconsole_store_write_duration_seconds", AT, quick=900, slow=20),
        durations("cloudconsole_store_write_duration_seconds", AT, quick=900, slow=5),
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


def judge(folder: Path, alert: str, series: Series, minute: int, expected: list[dict[str, Any]]) -> str:
    """What promtool has against it; nothing, where it is as expected."""
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": expected}],
    }
    file = folder / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(FILE)], "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def expected_alert(alert: str, labels: dict[str, str]) -> dict[str, Any]:
    rule = RULES[alert]
    told = {
        name: re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)
        for name, text in rule["annotations"].items()
    }
    return {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": told}


def test_every_alert_has_its_case() -> None:
    assert set(CASES) == set(RULES)


def test_promtool_finds_nothing_wrong() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(FILE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", CASES)
def test_it_fires(alert: str, tmp_path: Path) -> None:
    case = CASES[alert]
    expected = [expected_alert(alert, case.labels)]
    assert judge(tmp_path, alert, case.fires, case.minute, expected) == ""


@pytest.mark.parametrize("alert", CASES)
def test_it_is_quiet(alert: str, tmp_path: Path) -> None:
    case = CASES[alert]
    assert judge(tmp_path, alert, case.quiet, case.minute, []) == ""


@pytest.mark.parametrize("alert", [name for name, rule in RULES.items() if "for" in rule])
def test_what_passes_by_itself_wakes_nobody(alert: str, tmp_path: Path) -> None:
    """It has to last; a minute before that there is no alert."""
    number, unit = re.fullmatch(r"(\d+)([mh])", RULES[alert]["for"]).groups()  # type: ignore[union-attr]
    minute = int(number) * {"m": 1, "h": 60}[unit] - 1
    assert judge(tmp_path, alert, CASES[alert].fires, minute, []) == ""

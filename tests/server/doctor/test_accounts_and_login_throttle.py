"""Doctor checks of sample passwords and throttled logins."""

from pathlib import Path

import pytest

from cloudconsole.core import login_throttle
from cloudconsole.server.ip_addresses import throttle_address
from tests.conftest import SAMPLE_TIME
from tests.server.doctor.conftest import Check, execute, fail_logins, levels


@pytest.mark.parametrize("table", ["accounts", "tenants"])
def test_disabled_sample_accounts_are_ok_on_any_host(check: Check, data: Path, table: str) -> None:
    execute(data, "cloud", f"UPDATE {table} SET disabled = 1")
    assert levels(check("sample passwords", host="0.0.0.0")) == ["ok"]


@pytest.mark.parametrize(("failures", "level"), [(9, "ok"), (10, "warning")])
def test_throttled_logins_are_reported(check: Check, data: Path, failures: int, level: str) -> None:
    fail_logins(data, "nobody-we-know", "192.0.2.7", failures)
    (finding,) = check("login throttle")
    assert finding.level == level
    assert ("an unknown user from 192.0.2.7" in finding.text) is (level == "warning")
    assert levels(check("login throttle", now=SAMPLE_TIME + 300)) == ["ok"]


def test_throttled_address_is_reported_once_for_all_users(check: Check, data: Path) -> None:
    for number in range(10):
        fail_logins(data, f"user{number}", "192.0.2.7")
    (finding,) = check("login throttle")
    assert finding.text == "all logins from 192.0.2.7 are throttled"
    assert "add it to proxies" in finding.fix


@pytest.mark.parametrize(("bits", "step"), [(56, 1), (48, 256)])
def test_throttled_ipv6_network_replaces_its_subnets(check: Check, data: Path, bits: int, step: int) -> None:
    for number in range(login_throttle.NETWORK_FAILURES[bits] // 50):
        fail_logins(data, "demo", throttle_address(f"2001:db8:0:{number * step:x}::1"), 50)
    (finding,) = check("login throttle")
    assert finding.text == f"all logins from 2001:db8::/{bits} are throttled"


def test_only_a_few_throttled_logins_are_listed(check: Check, data: Path) -> None:
    for number in range(8):
        fail_logins(data, "demo", f"192.0.2.{number}")
    findings = check("login throttle")
    assert len(findings) == 6
    assert findings[-1].text == "3 more are throttled"

"""Doctor checks of settings, public origin, proxies, certificate files and token keys."""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.backends.openstack.token_encryption_and_keys import create_keys
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.doctor.config import read_case
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok
from cloudconsole.server.doctor.runner import CHECKS, run_checks
from tests.certificate_factory import write_certificate
from tests.conftest import SAMPLE_TIME
from tests.harness import CERTIFICATES
from tests.server.doctor.conftest import Check, execute, levels

CONFLICT = {"hosts": "a.example", "public_origin": "https://b.example", "workers": "2"}


def case_of(environment: Mapping[str, str] = {}, /, **flags: str) -> DoctorContext:
    return read_case(environment, flags, SAMPLE_TIME, quick=True)


@pytest.mark.parametrize(
    ("environment", "flags", "problems", "unknown", "used"),
    [
        (
            {"CLOUDCONSOLE_PORT": "x", "CLOUDCONSOLE_NOPE": "1", "CLOUDCONSOLE_WORKERS": "3", "OTHER": "x"},
            {"currency": "money", "time_zone": "Asia/Shanghai"},
            ["CLOUDCONSOLE_PORT", "CLOUDCONSOLE_NOPE", "--currency"],
            {"port", "currency"},
            {"workers": 3, "time_zone": "Asia/Shanghai"},
        ),
        ({"CLOUDCONSOLE_PORT": "x"}, {"port": "9000"}, ["CLOUDCONSOLE_PORT"], set(), {"port": 9000}),
        ({"CLOUDCONSOLE_PROT": "9000"}, {}, ["CLOUDCONSOLE_PROT"], {"port"}, {}),
        ({}, CONFLICT, ["hosts"], {"hosts", "public_origin"}, {"hosts": (), "public_origin": None, "workers": 2}),
        ({}, {"tls_certificate": "c.pem"}, ["tls_key"], {"tls_certificate", "tls_key"}, {"tls_certificate": None}),
    ],
    ids=["several", "overridden", "misspelt", "conflict", "incomplete"],
)
def test_every_invalid_setting_is_reported_and_the_rest_used(
    environment: dict[str, str], flags: dict[str, str], problems: list[str], unknown: set[str], used: dict[str, Any]
) -> None:
    case = case_of(environment, **flags)
    assert [problem.partition(":")[0] for problem in case.setting_problems] == problems
    assert case.unknown == unknown
    assert {name: getattr(case.settings, name) for name in used} == used


@pytest.mark.parametrize(
    ("content", "flags", "problems", "unknown"),
    [
        ('port = "x"\nnope = 1\n', {}, ["{file}: port:", "{file}: nope:"], {"port"}),
        ("port: 8000\n", {}, ["--config: {file}: not TOML"], set(SETTINGS) - {"workers"}),
        ("port = 9000\n", {"port": "x"}, ["--port:"], {"port"}),
    ],
    ids=["invalid lines", "malformed", "invalid flag"],
)
def test_problems_of_a_config_file_are_reported(
    tmp_path: Path, content: str, flags: dict[str, str], problems: list[str], unknown: set[str]
) -> None:
    file = tmp_path / "console.toml"
    file.write_text(content)
    case = case_of(config=str(file), workers="3", **flags)
    for problem, start in zip(case.setting_problems, problems, strict=True):
        assert problem.startswith(start.format(file=file))
    assert case.unknown == unknown
    assert (case.settings.workers, case.settings.port) == (3, Settings().port)


def test_checks_that_need_an_invalid_setting_are_skipped() -> None:
    for name in {name for check in CHECKS.values() for name in check.needs}:
        case = DoctorContext(Settings(data=Path("none"), port=0), ["wrong"], SAMPLE_TIME, unknown=frozenset({name}))
        skipped = {each.check for each in run_checks(case) if each.text == f"skipped: invalid value of {name}"}
        assert skipped == {title for title, check in CHECKS.items() if name in check.needs}


def test_checks_declare_the_settings_they_need() -> None:
    assert {name for name, check in CHECKS.items() if "data" not in check.needs} == {
        *("settings", "clock", "time zones", "public origin", "certificate", "metrics"),
        *("running console", "identity endpoints", "extensions"),
    }
    assert {"host", "port", "tls_certificate", "public_origin"} <= set(CHECKS["running console"].needs)


def test_unusable_certificate_files_are_reported(check: Check, tmp_path: Path) -> None:
    (finding,) = check("settings", tls_certificate=tmp_path / "none.pem", tls_key=CERTIFICATES / "ec-key.pem")
    assert finding.level == "problem"
    assert finding.text.startswith("tls_certificate: ")


@pytest.mark.parametrize(
    ("name", "changes", "level"),
    [
        ("public origin", {}, "ok"),
        ("public origin", {"host": "0.0.0.0"}, "warning"),
        ("public origin", {"proxies": (ip_network("10.0.0.0/8"),)}, "warning"),
        ("public origin", {"public_origin": "http://localhost:8000"}, "ok"),
        ("public origin", {"public_origin": "http://192.0.2.1"}, "warning"),
        ("public origin", {"public_origin": "https://192.0.2.1"}, "ok"),
        ("public origin", {"public_origin": "https://no-such-host.invalid"}, "warning"),
        ("sample passwords", {}, "ok"),
        ("sample passwords", {"host": "0.0.0.0"}, "problem"),
        ("sample passwords", {"public_origin": "https://console.example.com"}, "problem"),
        ("sample passwords", {"host": "0.0.0.0", "insecure_sample": True}, "warning"),
        ("certificate", {}, "ok"),
        ("token keys", {}, "ok"),
    ],
)
def test_settings_must_match_who_can_connect(check: Check, name: str, changes: dict[str, Any], level: str) -> None:
    (finding,) = check(name, **changes)
    assert finding.level == level
    assert ("demo, other, operator" in finding.text) == (name == "sample passwords")


@pytest.mark.parametrize(("address", "level"), [("10.0.0.7", "problem"), ("::1", "problem"), ("8.8.8.8", "warning")])
def test_an_undeclared_proxy_is_named(check: Check, data: Path, address: str, level: str) -> None:
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('{address}', {int(SAMPLE_TIME) - 60})")
    (finding,) = check("proxies")
    assert finding.level == level
    assert finding.text.startswith(f"{address} sends forwarded headers")
    assert finding.fix == "add it to proxies if it is yours, or stop it from sending them"


def test_declared_or_long_unseen_proxy_is_ok(check: Check, data: Path) -> None:
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('10.0.0.7', {int(SAMPLE_TIME) - 60})")
    execute(data, "activity", f"INSERT INTO undeclared_proxies VALUES ('10.0.0.8', {int(SAMPLE_TIME) - 86_400})")
    assert levels(check("proxies", proxies=(ip_network("10.0.0.7"),))) == ["ok"]


@pytest.mark.parametrize(
    ("days", "level", "text"),
    [(15, "ok", "is valid"), (14, "warning", "expires on 2026-11-29"), (0, "problem", "expired on 2026-11-15")],
)
def test_expiry_of_a_certificate_is_reported(check: Check, tmp_path: Path, days: int, level: str, text: str) -> None:
    not_after = datetime.fromtimestamp(int(SAMPLE_TIME), UTC) + timedelta(days=days)
    certificate, key = write_certificate(tmp_path, not_after)
    (finding,) = check("certificate", tls_certificate=certificate, tls_key=key)
    assert (finding.level, text in finding.text) == (level, True), finding


@pytest.mark.parametrize(("mode", "level"), [(0o604, "problem"), (0o660, "problem"), (0o640, "ok"), (0o400, "ok")])
def test_key_accessible_to_other_users_is_a_problem(check: Check, tmp_path: Path, mode: int, level: str) -> None:
    certificate, key = write_certificate(tmp_path, datetime(2100, 1, 1, tzinfo=UTC))
    key.chmod(mode)
    (finding,) = check("certificate", tls_certificate=certificate, tls_key=key)
    assert finding.level == level
    subprocess.run(["sh", "-c", finding.command], check=True)
    assert levels(check("certificate", tls_certificate=certificate, tls_key=key)) == ["ok"]


def check_keys(check: Check, **changes: Any) -> Finding:
    endpoint = Endpoint("https://identity.example.com")
    (finding,) = check("token keys", identity=(IdentityEndpoint(endpoint.address, KEYSTONE, endpoint),), **changes)
    return finding


def test_missing_keys_will_be_created_at_start(check: Check, data: Path) -> None:
    finding = check_keys(check)
    assert finding == ok(f"{data / 'token-keys'} will be created when the console starts")
    assert not (data / "token-keys").exists()


def test_missing_key_directory_is_a_problem(check: Check, tmp_path: Path) -> None:
    finding = check_keys(check, token_keys=tmp_path / "none" / "keys")
    assert (finding.level, finding.command) == ("problem", f"mkdir -p -m 700 {tmp_path / 'none'}")


def test_keys_must_be_private(check: Check, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    create_keys(file)
    assert check_keys(check, token_keys=file) == ok(f"{file} has 1 key and is private")
    file.chmod(0o604)
    finding = check_keys(check, token_keys=file)
    assert (finding.level, finding.command) == ("problem", f"chmod 600 {file}")


def test_malformed_keys_are_a_problem_and_not_shown(check: Check, data: Path) -> None:
    (data / "token-keys").write_text("not a key\n")
    (data / "token-keys").chmod(0o600)
    finding = check_keys(check)
    assert finding.level == "problem"
    assert "not a key" not in finding.text

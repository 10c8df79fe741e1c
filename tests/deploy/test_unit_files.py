"""The systemd units and the initial settings file match the console."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.runtime.supervisor import STOP_MARGIN_SECONDS
from cloudconsole.server.runtime.tls import RELOAD_SIGNAL
from tests.deploy.unit_files import DROP_INS, PROGRAM, ROOT, SERVICES, SETTINGS_FILE, UNITS, drop_in, service


def test_initial_settings_file_is_valid() -> None:
    settings = load_settings({}, {"config": str(ROOT / "deploy/cloudconsole.toml")})
    assert settings.always_https
    assert settings.proxies
    assert str(settings.data) == f"/var/lib/{service('cloudconsole')['StateDirectory'][0]}"
    assert settings.port == Settings().port


def test_nginx_uses_the_default_port() -> None:
    assert f"server 127.0.0.1:{Settings().port} " in (ROOT / "deploy/nginx/cloudconsole.conf").read_text()


def test_stop_timeout_exceeds_the_grace_period() -> None:
    assert int(service("cloudconsole")["TimeoutStopSec"][0]) > Settings().stop_grace + STOP_MARGIN_SECONDS


@pytest.mark.parametrize("name", SERVICES)
def test_every_unit_runs_the_same_program_with_the_same_settings(name: str) -> None:
    (command,) = service(name)["ExecStart"]
    assert f"{PROGRAM} " in command
    assert f"--config {SETTINGS_FILE}" in command


@pytest.mark.parametrize("name", SERVICES)
def test_every_unit_has_the_same_hardening(name: str) -> None:
    def hardening(unit: dict[str, list[str]]) -> dict[str, list[str]]:
        beginnings = ("Protect", "Private", "Restrict", "NoNew", "Capability", "Lock", "Memory", "SystemCall", "UMask")
        return {directive: value for directive, value in unit.items() if directive.startswith(beginnings)}

    expected = hardening(service("cloudconsole"))
    assert len(expected) > 20
    assert expected.items() <= hardening(service(name)).items()


@pytest.mark.parametrize("name", [*SERVICES, *DROP_INS])
def test_every_variable_is_a_setting(name: str) -> None:
    unit = service(name) if name in SERVICES else drop_in(name)
    variables = {setting.variable for setting in SETTINGS.values()}
    assert {value.partition("=")[0] for value in unit.get("Environment", [])} <= variables


@pytest.mark.parametrize("name", [*SERVICES, *DROP_INS])
def test_every_group_is_created_by_sysusers(name: str) -> None:
    unit = service(name) if name in SERVICES else drop_in(name)
    created = re.findall(r"^u (\S+) ", (UNITS / "cloudconsole.sysusers").read_text(), re.MULTILINE)
    groups = {group for directive in ("Group", "SupplementaryGroups") for group in unit.get(directive, [])}
    assert groups <= set(created)


def test_certificate_hook_makes_both_files_group_readable(tmp_path: Path) -> None:
    section = (
        (ROOT / "docs/operations/deployment.md").read_text().partition("## Without nginx\n")[2].partition("\n## ")[0]
    )
    settings, hook = (re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[0] for language in ("toml", "sh"))
    for name in ("fullchain.pem", "privkey.pem"):
        (tmp_path / name).touch(mode=0o600)
    replacements = {" -g cloudconsole": "", "/etc": str(tmp_path / "etc"), "systemctl": "true"}
    for documented, replacement in replacements.items():
        hook = hook.replace(documented, replacement)
    subprocess.run(["sh", "-e", "-c", hook], env={**os.environ, "RENEWED_LINEAGE": str(tmp_path)}, check=True)
    files = re.findall(r'^tls_\w+ = "(.*)"', settings, re.MULTILINE)
    assert [(tmp_path / file[1:]).stat().st_mode & 0o777 for file in files] == [0o640, 0o640]


def test_reload_sends_the_reload_signal() -> None:
    assert service("cloudconsole")["ExecReload"] == [f"kill -{RELOAD_SIGNAL.name[3:]} $MAINPID"]


def test_readiness_notification_and_watchdog_are_enabled() -> None:
    unit = service("cloudconsole")
    assert unit["Type"] == ["notify"]
    assert int(unit["WatchdogSec"][0]) > 0
    assert unit["TimeoutStartSec"] == ["infinity"]

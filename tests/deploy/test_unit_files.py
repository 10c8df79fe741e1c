"""The units, and the settings beside them, fit the console as it is."""

import pytest

from cloudconsole.server.settings import SETTINGS, Settings
from cloudconsole.server.settings_reading import load_settings
from cloudconsole.server.supervising import STOP_MARGIN_SECONDS
from tests.deploy.unit_files import DROP_INS, PROGRAM, ROOT, SERVICES, SETTINGS_FILE, drop_in, service


def test_the_settings_to_begin_with_can_be_used() -> None:
    settings = load_settings({}, {"config": str(ROOT / "deploy/cloudconsole.toml")})
    assert settings.always_https
    assert settings.proxies
    assert str(settings.data) == f"/var/lib/{service('cloudconsole')['StateDirectory'][0]}"
    assert settings.port == Settings().port


def test_the_port_is_where_nginx_looks_for_it() -> None:
    assert f"server 127.0.0.1:{Settings().port} " in (ROOT / "deploy/nginx/cloudconsole.conf").read_text()


def test_a_stop_is_given_the_time_that_it_may_take() -> None:
    assert int(service("cloudconsole")["TimeoutStopSec"][0]) > Settings().stop_grace + STOP_MARGIN_SECONDS


@pytest.mark.parametrize("name", SERVICES)
def test_every_unit_runs_the_same_program_with_the_same_settings(name: str) -> None:
    (command,) = service(name)["ExecStart"]
    assert f"{PROGRAM} " in command
    assert f"--config {SETTINGS_FILE}" in command


@pytest.mark.parametrize("name", SERVICES)
def test_every_unit_is_hardened_alike(name: str) -> None:
    def hardening(unit: dict[str, list[str]]) -> dict[str, list[str]]:
        beginnings = ("Protect", "Private", "Restrict", "NoNew", "Capability", "Lock", "Memory", "SystemCall", "UMask")
        return {directive: value for directive, value in unit.items() if directive.startswith(beginnings)}

    wanted = hardening(service("cloudconsole"))
    assert len(wanted) > 20
    assert wanted.items() <= hardening(service(name)).items()


@pytest.mark.parametrize("name", [*SERVICES, *DROP_INS])
def test_every_variable_is_a_setting(name: str) -> None:
    unit = service(name) if name in SERVICES else drop_in(name)
    variables = {setting.variable for setting in SETTINGS.values()}
    assert {value.partition("=")[0] for value in unit.get("Environment", [])} <= variables


def test_only_a_console_with_a_certificate_is_sent_the_signal_to_read_it_again() -> None:
    assert "ExecReload" not in service("cloudconsole")
    assert drop_in("own-tls")["ExecReload"] == ["kill -HUP $MAINPID"]

"""The systemd units, initial settings file, Containerfile and alert rules match the project."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from cloudconsole.backends.openstack.config import SERVICES as OPENSTACK_SERVICES
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.metrics import layout
from cloudconsole.server.metrics.definitions import FAMILIES, PREFIX
from cloudconsole.server.runtime.supervisor import STOP_MARGIN_SECONDS
from cloudconsole.server.runtime.tls import RELOAD_SIGNAL
from tests.deploy.alert_rules import read_context
from tests.deploy.container_file import BUILD, FINAL, IGNORE, environment, only
from tests.deploy.unit_files import DROP_INS, PROGRAM, ROOT, SERVICES, SETTINGS_FILE, UNITS, drop_in, service

COPIED = [source for step in BUILD if step.instruction == "COPY" for source in step.text.split()[:-1]]

RULES = read_context()
RUNBOOK = "docs/operations/runbook.md"
SUFFIXES = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("",), "gauge": ("",)}
SAMPLES = {PREFIX + family.name + suffix: family for family in FAMILIES for suffix in SUFFIXES[family.type]}
LABEL_VALUES = {
    "operation": layout.OPERATIONS,
    "outcome": layout.OUTCOMES,
    "reason": layout.REJECTIONS,
    "service": OPENSTACK_SERVICES,
    "job": ("cloudconsole",),
}


class TestUnits:
    def test_initial_settings_file_is_valid(self) -> None:
        settings = load_settings({}, {"config": str(ROOT / "deploy/cloudconsole.toml")})
        assert settings.always_https
        assert settings.proxies
        assert str(settings.data) == f"/var/lib/{service('cloudconsole')['StateDirectory'][0]}"
        assert settings.port == Settings().port

    @pytest.mark.parametrize("name", SERVICES)
    def test_every_unit_runs_the_same_program_with_the_same_settings(self, name: str) -> None:
        (command,) = service(name)["ExecStart"]
        assert f"{PROGRAM} " in command
        assert f"--config {SETTINGS_FILE}" in command

    @pytest.mark.parametrize("name", SERVICES)
    def test_every_unit_has_the_same_hardening(self, name: str) -> None:
        names = ("Protect", "Private", "Restrict", "NoNew", "Capability", "Lock", "Memory", "SystemCall", "UMask")
        unit = service("cloudconsole")
        expected = {directive: value for directive, value in unit.items() if directive.startswith(names)}
        assert len(expected) > 20
        assert expected.items() <= service(name).items()

    @pytest.mark.parametrize("name", [*SERVICES, *DROP_INS])
    def test_every_variable_is_a_setting_and_every_group_is_created(self, name: str) -> None:
        unit = service(name) if name in SERVICES else drop_in(name)
        variables = {setting.variable for setting in SETTINGS.values()}
        assert {value.partition("=")[0] for value in unit.get("Environment", [])} <= variables
        created = re.findall(r"^u (\S+) ", (UNITS / "cloudconsole.sysusers").read_text(), re.MULTILINE)
        assert {*unit.get("Group", []), *unit.get("SupplementaryGroups", [])} <= set(created)

    def test_certificate_hook_makes_both_files_group_readable(self, tmp_path: Path) -> None:
        document = (ROOT / "docs/operations/deployment.md").read_text()
        section = document.partition("## Without nginx\n")[2].partition("\n## ")[0]
        settings, hook = (re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[0] for language in ("toml", "sh"))
        for name in ("fullchain.pem", "privkey.pem"):
            (tmp_path / name).touch(mode=0o600)
        replacements = {" -g cloudconsole": "", "/etc": str(tmp_path / "etc"), "systemctl": "true"}
        for documented, replacement in replacements.items():
            hook = hook.replace(documented, replacement)
        subprocess.run(["sh", "-e", "-c", hook], env={**os.environ, "RENEWED_LINEAGE": str(tmp_path)}, check=True)
        files = re.findall(r'^tls_\w+ = "(.*)"', settings, re.MULTILINE)
        assert [(tmp_path / file[1:]).stat().st_mode & 0o777 for file in files] == [0o640, 0o640]

    def test_start_reload_and_stop_match_the_console(self) -> None:
        unit = service("cloudconsole")
        assert unit["Type"] == ["notify"]
        assert int(unit["WatchdogSec"][0]) > 0
        assert unit["TimeoutStartSec"] == ["infinity"]
        assert unit["ExecReload"] == [f"kill -{RELOAD_SIGNAL.name[3:]} $MAINPID"]
        assert int(unit["TimeoutStopSec"][0]) > Settings().stop_grace + STOP_MARGIN_SECONDS


class TestContainerfile:
    def test_the_image_sets_only_the_required_settings(self) -> None:
        ours = {name: value for name, value in environment().items() if name.startswith("CLOUDCONSOLE_")}
        assert set(ours) == {SETTINGS[name].variable for name in ("host", "data")}
        assert load_settings(ours, {}).data.as_posix() == only(FINAL, "VOLUME").text == only(FINAL, "WORKDIR").text

    def test_both_stages_use_the_supported_python(self) -> None:
        builder, final = only(BUILD, "FROM").text, only(FINAL, "FROM").text
        assert builder == f"{final} AS build"
        version = final.partition(":")[2].split("-")[0]
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert project["requires-python"] == f">={version}"

    def test_every_requirement_is_verified_by_hash(self) -> None:
        installs = [step.text for step in BUILD if step.instruction == "RUN" and " pip install " in f" {step.text}"]
        assert all("--require-hashes" in step or "--no-deps" in step for step in installs)

    def test_exactly_the_copied_files_are_not_ignored(self) -> None:
        assert [source for source in COPIED if not (ROOT / source).exists()] == []
        first, *lines = [line for line in IGNORE.read_text().splitlines() if not line.startswith("#")]
        assert first == "*"
        assert {line.removeprefix("!") for line in lines if line.startswith("!")} == set(COPIED)


class TestAlertRules:
    @pytest.mark.parametrize("alert", RULES)
    def test_every_metric_and_label_value_exists(self, alert: str) -> None:
        expression = re.sub(r'job="cloudconsole"', "", RULES[alert]["expr"])
        found = re.findall(r"\b(cloudconsole_\w+|up)\b(?:\{(.*?)\})?", expression)
        assert found
        for name, braces in found:
            if name == "up":
                continue
            for label, values in re.findall(r'(\w+)[=!]~?"(.*?)"', braces):
                assert label in SAMPLES[name].labels
                assert set(values.split("|")) <= set(LABEL_VALUES[label])

    @pytest.mark.parametrize("alert", RULES)
    def test_every_alert_has_a_severity_and_links_to_its_runbook_section(self, alert: str) -> None:
        assert RULES[alert]["labels"]["severity"] in ("critical", "warning")
        assert set(RULES[alert]["annotations"]) == {"summary", "description", "runbook"}
        assert RULES[alert]["annotations"]["runbook"] == f"{RUNBOOK}#{alert.lower()}"

    def test_runbook_has_a_section_for_each_alert(self) -> None:
        assert re.findall(r"^## (.*)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE) == list(RULES)

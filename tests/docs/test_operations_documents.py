"""The pages for operators match the code and the deployment files, and every example works unchanged."""

import io
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from cloudconsole.cli.main import main
from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.entities import ENTITY_TYPES, EntityType
from cloudconsole.server.audit_log import RECORDS_PER_SECOND
from cloudconsole.server.commands.admin.accounts import VERBS
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.doctor.runner import CHECKS
from cloudconsole.server.metrics.definitions import FAMILIES, PREFIX
from cloudconsole.server.metrics.layout import GONE, OPERATIONS
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS
from tests.deploy.unit_files import PROGRAM, SETTINGS_FILE, UNITS, service
from tests.docs.code_blocks import ROOT, blocks
from tests.harness import running_server
from tests.server.commands.conftest import Run, cloudconsole

__all__ = ["cloudconsole"]

PAGES = ("admin", "deployment", "doctor", "monitoring", "openstack")
ADMIN, DEPLOYMENT, DOCTOR, MONITORING, OPENSTACK = ((ROOT / f"docs/operations/{page}.md").read_text() for page in PAGES)
ADMIN_EXAMPLES = [line for block in blocks("docs/operations/admin.md", "sh") for line in block.splitlines()]
NGINX = (ROOT / "deploy/nginx/cloudconsole.conf").read_text()


class TestAdmin:
    @pytest.mark.parametrize("entity", ENTITY_TYPES, ids=lambda entity: entity.name)
    def test_every_command_has_an_example(self, entity: EntityType) -> None:
        for verb in (*entity.verbs, *(VERBS if entity.name == "account" else ())):
            assert any(f"cloudconsole admin {entity.name} {verb} " in f"{line} " for line in ADMIN_EXAMPLES), verb

    def test_every_example_works(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert "\ncloudconsole serve --sample\n" in ADMIN
        with running_server(tmp_path, is_first=True):
            for line in ADMIN_EXAMPLES:
                if not line.startswith("cloudconsole "):
                    subprocess.run(["sh", "-c", line], check=True)
                    continue
                command, _, source = line.partition(" < ")
                content = Path(source).read_bytes() if source else b""
                monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
                assert main(shlex.split(command)[1:]) == 0, line

    def test_documented_default_quotas_match_the_code(self) -> None:
        section = ADMIN.partition("\n## Quotas\n")[2].partition("\n## ")[0]
        assert {name: int(number) for name, number in re.findall(r"`(\w+)`\s+(\d+)", section)} == QUOTA_DEFAULTS


class TestDeployment:
    def test_every_copied_file_exists(self) -> None:
        named = set(re.findall(r"(?<!renewal-hooks/)\bdeploy/[\w./*-]*[\w*]", DEPLOYMENT))
        assert len(named) >= 8
        assert [pattern for pattern in named if not list(ROOT.glob(pattern))] == []

    def test_every_deployment_file_is_mentioned(self) -> None:
        for file in (path for path in (ROOT / "deploy").rglob("*") if path.is_file() and path.parent != UNITS):
            assert file.name in DEPLOYMENT

    def test_commands_use_the_program_of_the_units(self) -> None:
        programs = set(re.findall(r"(\S*/bin/cloudconsole) (?:init|admin|doctor|serve)", DEPLOYMENT))
        assert programs == {PROGRAM}
        assert set(re.findall(r"--config (\S+)", DEPLOYMENT)) == {SETTINGS_FILE}

    def test_build_command_matches_the_containerfile(self) -> None:
        (command,) = re.findall("^#   (.+)", (ROOT / "deploy/container/Containerfile").read_text(), re.MULTILINE)
        assert f"\n{command}\n" in DEPLOYMENT

    @pytest.mark.parametrize("page", ["backup-and-retention", "postgresql"])
    def test_nightly_retention_matches_the_pages(self, page: str) -> None:
        (command,) = service("cloudconsole-prune")["ExecStart"]
        ages = command.partition(f"{SETTINGS_FILE} ")[2]
        assert f"\ncloudconsole admin prune {ages}\n" in (ROOT / f"docs/operations/{page}.md").read_text()

    @pytest.mark.parametrize(
        ("documented", "directive"),
        [
            (f"{Settings().max_body // 1024} KiB for a body", "client_max_body_size 64k"),
            ("100 requests per second (burst 200)", "zone=cloudconsole_calls:10m rate=100r/s"),
            ("100 requests per second (burst 200)", "limit_req zone=cloudconsole_calls burst=200 nodelay"),
            ("10 logins per second (burst 50)", "zone=cloudconsole_logins:10m rate=10r/s"),
            ("10 logins per second (burst 50)", "limit_req zone=cloudconsole_logins burst=50 nodelay"),
            ("100 connections", "limit_conn cloudconsole_connections 100;"),
            ("for 5 s after two failures", "max_fails=2 fail_timeout=5s"),
            (f"{Settings().request_timeout} s without progress", "client_body_timeout 30s"),
        ],
    )
    def test_nginx_limits_are_documented(self, documented: str, directive: str) -> None:
        assert documented in " ".join(DEPLOYMENT.split())
        assert directive in NGINX


def test_every_check_of_the_doctor_is_documented_in_order() -> None:
    rows = [line.split("|")[1].strip() for line in DOCTOR.splitlines() if line.startswith("|")]
    # A check may have a separate row for PostgreSQL.
    assert list(dict.fromkeys(row.partition(", on ")[0] for row in rows[2:])) == list(CHECKS)


class TestMonitoring:
    def test_table_lists_exactly_the_existing_metrics(self) -> None:
        rows = [line for line in MONITORING.splitlines() if line.startswith(f"| `{PREFIX}")]
        assert [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows] == [
            (f"`{PREFIX}{family.name}`", family.type, ", ".join(f"`{label}`" for label in family.labels), family.help)
            for family in FAMILIES
        ]

    def test_operations_and_log_limit_are_documented(self) -> None:
        for name in {*OPERATIONS, GONE} - {action.name for action in (*ACTIONS, *EXTENSIONS)}:
            assert f"`{name}`" in MONITORING
        assert f"at most {RECORDS_PER_SECOND} lines a second" in MONITORING


class TestOpenStack:
    PAGE = "docs/operations/openstack.md"

    def test_settings_file_corresponds_to_the_clouds_file(self, tmp_path: Path) -> None:
        (clouds,), (settings,) = blocks(self.PAGE, "yaml"), blocks(self.PAGE, "toml")
        (cloud,) = yaml.safe_load(clouds)["clouds"].values()
        (tmp_path / "cloudconsole.toml").write_text(settings)
        (identity,) = load_settings({}, {"config": str(tmp_path / "cloudconsole.toml")}).identity
        endpoint = identity.keystone
        assert endpoint is not None
        assert endpoint.address == normalise_region(cloud["auth"]["auth_url"])
        assert endpoint.user_domain == cloud["auth"]["user_domain_name"]
        assert (endpoint.regions, endpoint.interface) == ((cloud["region_name"],), cloud["interface"])
        assert f'# ca_file = "{cloud["cacert"]}"' in settings

    def test_every_price_command_works(
        self, cloudconsole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        lines = [line for block in blocks(self.PAGE, "sh") for line in block.splitlines() if " admin " in line]
        assert len(lines) > 5
        assert cloudconsole("init", "--password-stdin", stdin=b"a long secret").code == 0
        for line in lines:
            done = cloudconsole(*shlex.split(line)[1:])
            assert done.code == 0, (line, done.err)

    def test_documented_defaults_match_the_settings(self) -> None:
        documented = re.findall(r"`([a-z_]+)`\s+\((\d+)[;)]", OPENSTACK)
        expected = {"identity_recheck", "cloud_cache", "flavor_cache", "cloud_concurrency"}
        assert expected <= {name for name, _ in documented}
        assert all(SETTINGS[name].default == int(number) for name, number in documented)

"""The page on deployment matches the deployment files."""

import re
from pathlib import Path

import pytest

from cloudconsole.server.config.settings import Settings
from tests.deploy.unit_files import PROGRAM, SETTINGS_FILE, UNITS, service

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/operations/deployment.md").read_text()
NGINX = (ROOT / "deploy/nginx/cloudconsole.conf").read_text()


def test_every_copied_file_exists() -> None:
    named = set(re.findall(r"(?<!renewal-hooks/)\bdeploy/[\w./*-]*[\w*]", DOCUMENT))
    assert len(named) >= 8
    for pattern in named:
        assert list(ROOT.glob(pattern)), pattern


def test_every_deployment_file_is_mentioned() -> None:
    for file in (path for path in (ROOT / "deploy").rglob("*") if path.is_file() and path.parent != UNITS):
        assert file.name in DOCUMENT


def test_commands_use_the_program_of_the_units() -> None:
    programs = set(re.findall(r"(\S*/bin/cloudconsole) (?:init|admin|doctor|serve)", DOCUMENT))
    assert programs == {PROGRAM}
    assert set(re.findall(r"--config (\S+)", DOCUMENT)) == {SETTINGS_FILE}


def test_build_command_matches_the_containerfile() -> None:
    (command,) = re.findall("^#   (.+)", (ROOT / "deploy/container/Containerfile").read_text(), re.MULTILINE)
    assert f"\n{command}\n" in DOCUMENT


@pytest.mark.parametrize("page", ["backup-and-retention", "postgresql"])
def test_nightly_retention_matches_the_pages(page: str) -> None:
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
def test_nginx_limits_are_documented(documented: str, directive: str) -> None:
    assert documented in " ".join(DOCUMENT.split())
    assert directive in NGINX

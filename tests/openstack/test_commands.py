"""The conformance kit and `cloudconsole doctor` with the real cloud."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.cloud import Lab

from tests.e2e.processes import command
from tests.harness import RunningServer
from tests.openstack.conftest import NewClient
from tests.openstack.tenants import prepare_console
from tests.server.commands.conftest import CommandResult, Run, cloudconsole

__all__ = ["cloudconsole"]

pytestmark = pytest.mark.xdist_group("commands")

DOMAIN = "4711"
URL = ("url", "add", "--type", "link", "--url")
CONTENT = [
    ("news", "add", "--title", "A new region", "--url", "https://example.com/news"),
    (*URL, "https://example.com/all"),
    (*URL, "https://example.com/acme", "--tenant", "acme"),
    (
        *("domain", "add", DOMAIN, "--tenant", "acme", "--name", "www.example.com", "--status", "Deployed"),
        *("--cname", "www.example.com.cdn.example", "--service-areas", "hk;ov", "--service-type", "web"),
    ),
]
"""News and a URL for all, and a URL and a domain for acme, whose users must have logged in once."""


def test_conformance_kit_passes(console: RunningServer, new_client: NewClient, lab: Lab, tmp_path: Path) -> None:
    new_client().log_in_as("alice")
    for arguments in CONTENT:
        done = command("admin", *arguments, "--data", str(console.log_file.parent / "data"))
        assert done.returncode == 0, done.stderr
    alice, bob = lab.users["alice"], lab.users["bob"]
    passwords = {"CLOUDCONSOLE_PASSWORD": alice.password, "CLOUDCONSOLE_OTHER_PASSWORD": bob.password}
    account = ("--region", lab.identity, "--username", alice.name, "--other-username", bob.name, "--domain-id", DOMAIN)
    flags = ("--suite", "all", "--strict", "--json", str(tmp_path / "report.json"))
    result = command("conformance", console.base, *account, *flags, **passwords)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    checks = json.loads((tmp_path / "report.json").read_text())["checks"]
    # Flavor ids are those of the cloud.
    assert {check["id"] for check in checks if check["outcome"] != "passed"} == {"flavors.ids"}, result.stdout


RunDoctor = Callable[[str], CommandResult]


@pytest.fixture
def run_doctor(cloudconsole: Run, lab: Lab, priced_store: Path, tmp_path: Path) -> RunDoctor:
    """Run the doctor as a user of the cloud."""

    def run(user: str) -> CommandResult:
        flags = prepare_console(lab, tmp_path, priced_store, "", {"port": 0})
        stdin = lab.users[user].password.encode()
        return cloudconsole(
            "doctor", *flags, "--data", tmp_path / "data", "--as", user, "--password-stdin", stdin=stdin
        )

    return run


def test_healthy_cloud_is_reported_by_region(run_doctor: RunDoctor, lab: Lab) -> None:
    out = run_doctor("alice").out
    assert f"identity endpoints: {lab.identity.removesuffix('/v3')} is a Keystone of version 3." in out
    assert "works in the project acme; the token is valid for " in out
    for region in lab.regions:
        assert f"ok       cloud: region {region}: compute, volume, network, image, load-balancer respond\n" in out
    assert "and all available flavors and volume types, have one\n" in out
    assert "problem  cloud" not in out


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ("dave", "cannot log in to the console: no default project, not exactly one project"),
        ("erin", "cannot log in to the console: no default project"),
        ("frank", "Keystone rejects frank at"),
        ("mallory", "Keystone rejects mallory at"),
    ],
)
def test_failed_login_is_explained(run_doctor: RunDoctor, user: str, message: str) -> None:
    result = run_doctor(user)
    assert result.code == 1
    assert message in result.out

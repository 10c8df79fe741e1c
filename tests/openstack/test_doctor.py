"""`cloudconsole doctor` with the real cloud."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lab.cloud import Lab

from tests.openstack.federated_client import prepare_console
from tests.server.commands.conftest import CommandResult, Run, cloudconsole

__all__ = ["cloudconsole"]

RunDoctor = Callable[..., CommandResult]


@pytest.fixture
def run_doctor(cloudconsole: Run, lab: Lab, priced_store: Path, tmp_path: Path) -> RunDoctor:
    """Run the doctor as a user of the cloud, with lines for the endpoint's TOML table."""

    def run(user: str, endpoint: str = "", password: str | None = None) -> CommandResult:
        flags = prepare_console(lab, tmp_path, priced_store, endpoint, {"port": 0})
        stdin = (password or lab.users[user].password).encode()
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


def test_configured_name_chooses_the_project(run_doctor: RunDoctor) -> None:
    assert "works in the project globex" in run_doctor("dave", 'project = "globex"').out


def test_region_missing_from_the_catalog_is_a_problem(run_doctor: RunDoctor) -> None:
    out = run_doctor("alice", 'regions = ["Nowhere"]').out
    assert "problem  cloud: the region Nowhere is set, but the catalog has no public endpoints there\n" in out
    assert "problem  cloud: the catalog has no public compute service" in out

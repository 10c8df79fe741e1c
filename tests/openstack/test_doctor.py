"""`cloudconsole doctor` with the real cloud."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lab.cloud import Lab

from tests.openstack.federated_client import prepare_console
from tests.server.commands.conftest import CommandResult, Run, cloudconsole

__all__ = ["cloudconsole"]

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

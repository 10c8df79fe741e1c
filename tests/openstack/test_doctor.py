"""`cloudconsole doctor` before the real cloud: what its users find there, and that it leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lab.cloud import Lab

from tests.openstack.guests import point_at
from tests.server.commands.conftest import Done, Run, cloudconsole

__all__ = ["cloudconsole"]

Examine = Callable[..., Done]


@pytest.fixture
def examine(cloudconsole: Run, lab: Lab, priced_store: Path, tmp_path: Path) -> Examine:
    """Runs the doctor as a user of the cloud, with lines for the endpoint's table."""

    def run(user: str, endpoint: str = "", password: str | None = None) -> Done:
        flags = point_at(lab, tmp_path, priced_store, endpoint, {"port": 0})
        given = (password or lab.users[user].password).encode()
        return cloudconsole(
            "doctor", *flags, "--data", tmp_path / "data", "--as", user, "--password-stdin", stdin=given
        )

    return run


def test_a_cloud_in_order_is_told_region_by_region(examine: Examine, lab: Lab) -> None:
    out = examine("alice").out
    assert f"identity endpoints: {lab.identity.removesuffix('/v3')} is a Keystone of version 3." in out
    assert "works in the project acme; the token is valid for " in out
    for region in lab.regions:
        assert f"ok       cloud: region {region}: compute, volume, network, image, load-balancer respond\n" in out
    assert "and all available flavors and volume types, have one\n" in out
    assert "problem  cloud" not in out


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("dave", "cannot log in to the console: no default project, not exactly one project"),
        ("erin", "cannot log in to the console: no default project"),
        ("frank", "Keystone rejects frank at"),
        ("mallory", "Keystone rejects mallory at"),
    ],
)
def test_who_cannot_log_in_is_told_why(examine: Examine, user: str, said: str) -> None:
    done = examine(user)
    assert done.code == 1
    assert said in done.out


def test_the_name_in_the_settings_chooses_among_several_projects(examine: Examine) -> None:
    assert "works in the project globex" in examine("dave", 'project = "globex"').out


def test_a_region_and_an_interface_that_are_not_there_are_problems(examine: Examine) -> None:
    out = examine("alice", 'regions = ["Nowhere"]').out
    assert "problem  cloud: the region Nowhere is set, but the catalog has no public endpoints there\n" in out
    assert "problem  cloud: the catalog has no public compute service" in out

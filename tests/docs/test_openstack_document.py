"""The page on OpenStack: defaults match the code, and examples work unchanged."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS
from tests.docs.code_blocks import ROOT, blocks
from tests.server.commands.conftest import Run, cloudconsole

__all__ = ["cloudconsole"]

PAGE = "docs/operations/openstack.md"
DOCUMENT = (ROOT / PAGE).read_text()


def test_settings_file_corresponds_to_the_clouds_file(tmp_path: Path) -> None:
    (clouds,), (settings,) = blocks(PAGE, "yaml"), blocks(PAGE, "toml")
    (cloud,) = yaml.safe_load(clouds)["clouds"].values()
    (tmp_path / "cloudconsole.toml").write_text(settings)
    (identity,) = load_settings({}, {"config": str(tmp_path / "cloudconsole.toml")}).identity
    endpoint = identity.keystone
    assert endpoint is not None
    assert endpoint.address == normalise_region(cloud["auth"]["auth_url"])
    assert endpoint.user_domain == cloud["auth"]["user_domain_name"]
    assert (endpoint.regions, endpoint.interface) == ((cloud["region_name"],), cloud["interface"])
    assert f'# ca_file = "{cloud["cacert"]}"' in settings


def test_every_price_command_works(cloudconsole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines() if " admin " in line]
    assert len(lines) > 5
    assert cloudconsole("init", "--password-stdin", stdin=b"a long secret").code == 0
    for line in lines:
        done = cloudconsole(*shlex.split(line)[1:])
        assert done.code == 0, (line, done.err)


def test_documented_defaults_match_the_settings() -> None:
    documented = re.findall(r"`([a-z_]+)`\s+\((\d+)[;)]", DOCUMENT)
    assert {name for name, _ in documented} >= {"identity_recheck", "cloud_cache", "flavor_cache", "cloud_concurrency"}
    assert all(SETTINGS[name].default == int(number) for name, number in documented)

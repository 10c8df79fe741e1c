"""The conformance kit passes with a cloud behind the console."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.cloud import Lab

from tests.e2e.processes import command
from tests.harness import RunningServer
from tests.openstack.federated_client import FederatedClient
from tests.openstack.sessions import data_dir

pytestmark = pytest.mark.xdist_group("conformance")

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


def test_conformance_kit_passes(
    console: RunningServer, new_client: Callable[[], FederatedClient], lab: Lab, tmp_path: Path
) -> None:
    new_client().log_in_as("alice")
    for arguments in CONTENT:
        done = command("admin", *arguments, "--data", str(data_dir(console)))
        assert done.returncode == 0, done.stderr
    alice, bob = lab.users["alice"], lab.users["bob"]
    passwords = {"CLOUDCONSOLE_PASSWORD": alice.password, "CLOUDCONSOLE_OTHER_PASSWORD": bob.password}
    account = ("--region", lab.identity, "--username", alice.name, "--other-username", bob.name, "--domain-id", DOMAIN)
    flags = ("--profile", "all", "--strict", "--json", str(tmp_path / "report.json"))
    result = command("conformance", console.base, *account, *flags, **passwords)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    checks = json.loads((tmp_path / "report.json").read_text())["checks"]
    # Flavor ids are those of the cloud.
    assert {check["id"] for check in checks if check["outcome"] != "passed"} == {"flavors.ids"}, result.stdout

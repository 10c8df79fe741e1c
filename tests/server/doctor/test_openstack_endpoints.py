"""Doctor checks of identity endpoints, over real HTTP, and of the token keys."""

import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.backends.openstack.token_encryption_and_keys import create_keys
from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.doctor import http_probe, openstack
from cloudconsole.server.doctor.context_and_findings import Finding, ok
from cloudconsole.server.doctor.http_probe import NoResponse, probe
from tests.backends.openstack.fake_cloud import FakeCloud, Reply
from tests.harness import CERTIFICATES
from tests.server.doctor.conftest import Check, levels

VERSION = {"version": {"id": "v3.14", "status": "stable"}}


def keystone(address: str, **more: Any) -> tuple[IdentityEndpoint, ...]:
    endpoint = Endpoint(normalise_region(address) or address, **more)
    return (IdentityEndpoint(address, KEYSTONE, endpoint),)


def check_endpoint(check: Check, address: str, **more: Any) -> Finding:
    (finding,) = check("identity endpoints", identity=keystone(address, **more))
    return finding


def test_console_without_endpoints_is_ok(check: Check) -> None:
    assert levels(check("identity endpoints")) == ["ok"]


def test_local_endpoint_is_reported_as_local(check: Check) -> None:
    (finding,) = check("identity endpoints", identity=(IdentityEndpoint("https://identity.example.com/v3"),))
    assert finding.level == "ok"
    assert "https://identity.example.com/v3 is for local accounts" in finding.text


@pytest.mark.parametrize("prefix", ["", "/identity"])
def test_keystone_is_reported_with_its_version(check: Check, cloud: FakeCloud, prefix: str) -> None:
    cloud.respond("GET", f"{prefix}/v3", Reply(body=VERSION))
    finding = check_endpoint(check, f"{cloud.address}{prefix}/v3")
    assert finding == ok(f"{cloud.address}{prefix} is a Keystone of version 3.14, stable")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(404), "responds with status 404, and not like a Keystone v3"),
        (Reply(body={"hello": "world"}), "responds with status 200, and not like a Keystone v3"),
        (Reply(body={"version": {"id": "v2.0", "status": "deprecated"}}), "not like a Keystone v3"),
        (Reply(body=b"<html>"), "not like a Keystone v3"),
        (Reply(body=b"[" * 100_000), "not like a Keystone v3"),
        (Reply(body={"version": ["v3"]}), "not like a Keystone v3"),
        (Reply(300, body={"choices": []}), "responds with status 300, and not like a Keystone v3"),
        (Reply(503), "responds with status 503: Keystone fails"),
        (Reply(302, headers={"Location": "https://elsewhere.example/v3"}), "redirects to 'https://elsewhere"),
        (Reply(instead="hang up"), "does not respond like a Keystone"),
    ],
)
def test_server_that_is_not_a_keystone_is_a_problem(check: Check, cloud: FakeCloud, reply: Reply, text: str) -> None:
    cloud.respond("GET", "/v3", reply)
    finding = check_endpoint(check, cloud.address)
    assert (finding.level, text in finding.text, bool(finding.fix)) == ("problem", True, True), finding


def test_unreachable_keystone_is_a_problem(check: Check) -> None:
    finding = check_endpoint(check, "http://127.0.0.1:1/v3")
    assert finding.level == "problem"
    assert finding.text.startswith("login through http://127.0.0.1:1 is impossible, no response: ")


def test_every_endpoint_is_checked(check: Check, cloud: FakeCloud) -> None:
    cloud.respond("GET", "/v3", Reply(body=VERSION))
    both = (*keystone("http://127.0.0.1:1/v3"), *keystone(cloud.address))
    assert levels(check("identity endpoints", identity=both)) == ["problem", "ok"]


def test_unresponsive_keystone_times_out(check: Check, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_probe, "MAX_SECONDS", 0.2)
    cloud.respond("GET", "/v3", Reply(instead="freeze"))
    assert "no complete response within 0.2 seconds" in check_endpoint(check, cloud.address).text


@pytest.mark.parametrize(("offset", "text"), [(60, "60 seconds ahead of"), (-60, "seconds behind")])
def test_clock_difference_is_a_warning(check: Check, cloud: FakeCloud, offset: int, text: str) -> None:
    date = formatdate(time.time() + offset, usegmt=True)
    cloud.respond("GET", "/v3", Reply(body=VERSION, headers={"Date": date}))
    version, clock = check("identity endpoints", identity=keystone(cloud.address))
    assert (version.level, clock.level) == ("ok", "warning")
    assert clock.text.startswith(f"the clock of {cloud.address} is ")
    assert text.split()[-1] in clock.text


def test_small_clock_difference_is_ok(check: Check, cloud: FakeCloud) -> None:
    cloud.respond("GET", "/v3", Reply(body=VERSION, headers={"Date": formatdate(time.time() + 3, usegmt=True)}))
    assert check_endpoint(check, cloud.address).level == "ok"


def test_plain_http_to_another_machine_is_a_warning(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> object:
        raise NoResponse("not tried")

    monkeypatch.setattr(openstack, "probe", fail)
    warning, unreachable = check("identity endpoints", identity=keystone("http://identity.example.com:5000/v3"))
    assert warning.level == "warning"
    assert "passwords and tokens can be intercepted" in warning.text
    assert unreachable.level == "problem"
    assert levels(check("identity endpoints", identity=keystone("https://identity.example.com/v3"))) == ["problem"]


# TLS


def test_certificate_trusted_by_ca_file_is_ok(check: Check) -> None:
    with FakeCloud(tls=True) as cloud:
        cloud.respond("GET", "/v3", Reply(body=VERSION))
        assert check_endpoint(check, cloud.address, ca_file=CERTIFICATES / "rsa.pem").level == "ok"


def test_untrusted_certificate_is_a_problem(check: Check) -> None:
    with FakeCloud(tls=True) as cloud:
        finding = check_endpoint(check, cloud.address)
    assert finding.level == "problem"
    assert finding.text.startswith(f"the certificate of {cloud.address} is not trusted: self")
    assert "ca_file" in finding.fix


@pytest.mark.parametrize(("days", "level", "text"), [(13, "warning", "expires on"), (0, "problem", "expired on")])
def test_certificate_expiry_is_reported(check: Check, days: int, level: str, text: str) -> None:
    with FakeCloud(tls=True) as cloud:
        cloud.respond("GET", "/v3", Reply(body=VERSION))
        end = probe(cloud.address, "/v3", ca_file=CERTIFICATES / "rsa.pem").certificate_end
        assert end is not None
        endpoints = keystone(cloud.address, ca_file=CERTIFICATES / "rsa.pem")
        _, finding = check("identity endpoints", now=end - days * 86_400, identity=endpoints)
    assert (finding.level, text in finding.text) == (level, True)


def test_https_to_a_plain_http_server_is_reported(check: Check, cloud: FakeCloud) -> None:
    finding = check_endpoint(check, cloud.address.replace("http:", "https:"))
    assert (finding.level, "does not speak https" in finding.text) == ("problem", True), finding


def test_plain_http_to_an_https_server_is_reported(check: Check) -> None:
    with FakeCloud(tls=True) as cloud:
        finding = check_endpoint(check, cloud.address.replace("https:", "http:"))
    assert (finding.level, finding.fix) == ("problem", "use https: in its address"), finding


# Token keys


KEYSTONE_ENDPOINTS = keystone("https://identity.example.com/v3")


def check_keys(check: Check, **changes: Any) -> Finding:
    (finding,) = check("token keys", identity=KEYSTONE_ENDPOINTS, **changes)
    return finding


def test_no_keys_are_needed_without_openstack(check: Check) -> None:
    assert levels(check("token keys")) == ["ok"]


def test_missing_keys_will_be_created_at_start(check: Check, data: Path) -> None:
    finding = check_keys(check)
    assert finding == ok(f"{data / 'token-keys'} will be created when the console starts")
    assert not (data / "token-keys").exists()


def test_missing_key_directory_is_a_problem(check: Check, tmp_path: Path) -> None:
    finding = check_keys(check, token_keys=tmp_path / "none" / "keys")
    assert (finding.level, finding.command) == ("problem", f"mkdir -p -m 700 {tmp_path / 'none'}")


def test_valid_keys_are_reported(check: Check, tmp_path: Path) -> None:
    create_keys(tmp_path / "keys")
    assert check_keys(check, token_keys=tmp_path / "keys") == ok(f"{tmp_path / 'keys'} has 1 key and is private")


@pytest.mark.parametrize("mode", [0o604, 0o660])
def test_keys_accessible_to_other_users_are_a_problem(check: Check, data: Path, mode: int) -> None:
    create_keys(data / "token-keys")
    (data / "token-keys").chmod(mode)
    finding = check_keys(check)
    assert (finding.level, finding.command) == ("problem", f"chmod 600 {data / 'token-keys'}")


@pytest.mark.parametrize("content", ["", "not a key\n", "\0\n"])
def test_malformed_keys_are_a_problem_and_not_shown(check: Check, data: Path, content: str) -> None:
    (data / "token-keys").write_text(content)
    (data / "token-keys").chmod(0o600)
    finding = check_keys(check)
    assert finding.level == "problem"
    assert "not a key" not in finding.text

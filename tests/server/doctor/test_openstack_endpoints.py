"""What the doctor says of an OpenStack's identity endpoints, which it calls for real, and of the keys for tokens."""

import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.backends.openstack.token_encryption import create_keys
from cloudconsole.core.url_normalisation import normalise_region
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.doctor import http_probe, openstack
from cloudconsole.server.doctor.http_probe import NoResponse, probe
from cloudconsole.server.doctor.results import Finding, ok
from tests.backends.openstack.fake_cloud import CloudDouble, Reply
from tests.harness import CERTIFICATES
from tests.server.doctor.conftest import Check, levels

VERSION = {"version": {"id": "v3.14", "status": "stable"}}


def keystone(address: str, **more: Any) -> tuple[IdentityEndpoint, ...]:
    endpoint = Endpoint(normalise_region(address) or address, **more)
    return (IdentityEndpoint(address, KEYSTONE, endpoint),)


def found(check: Check, address: str, **more: Any) -> Finding:
    (finding,) = check("identity endpoints", identity=keystone(address, **more))
    return finding


def test_without_an_endpoint_there_is_nothing_to_look_at(check: Check) -> None:
    assert levels(check("identity endpoints")) == ["ok"]


def test_an_endpoint_that_is_no_keystone_is_told_for_what_it_is(check: Check) -> None:
    (finding,) = check("identity endpoints", identity=(IdentityEndpoint("https://identity.example.com/v3"),))
    assert finding.level == "ok"
    assert "https://identity.example.com/v3 is for local accounts" in finding.text


@pytest.mark.parametrize("below", ["", "/identity"])
def test_a_keystone_is_told_with_its_version(check: Check, cloud: CloudDouble, below: str) -> None:
    cloud.answers("GET", f"{below}/v3", Reply(body=VERSION))
    finding = found(check, f"{cloud.address}{below}/v3")
    assert finding == ok(f"{cloud.address}{below} is a Keystone of version 3.14, stable")


@pytest.mark.parametrize(
    ("reply", "said"),
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
def test_what_is_no_keystone_is_a_problem(check: Check, cloud: CloudDouble, reply: Reply, said: str) -> None:
    cloud.answers("GET", "/v3", reply)
    finding = found(check, cloud.address)
    assert (finding.level, said in finding.text, bool(finding.fix)) == ("problem", True, True), finding


def test_where_nothing_answers_nobody_can_log_in(check: Check) -> None:
    finding = found(check, "http://127.0.0.1:1/v3")
    assert finding.level == "problem"
    assert finding.text.startswith("login through http://127.0.0.1:1 is impossible, no response: ")


def test_every_endpoint_is_looked_at(check: Check, cloud: CloudDouble) -> None:
    cloud.answers("GET", "/v3", Reply(body=VERSION))
    both = (*keystone("http://127.0.0.1:1/v3"), *keystone(cloud.address))
    assert levels(check("identity endpoints", identity=both)) == ["problem", "ok"]


def test_one_that_never_answers_holds_nobody_up(
    check: Check, cloud: CloudDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_probe, "MAX_SECONDS", 0.2)
    cloud.answers("GET", "/v3", Reply(instead="freeze"))
    assert "no complete response within 0.2 seconds" in found(check, cloud.address).text


@pytest.mark.parametrize(("moved", "said"), [(60, "60 seconds ahead of"), (-60, "seconds behind")])
def test_another_clock_is_a_warning(check: Check, cloud: CloudDouble, moved: int, said: str) -> None:
    date = formatdate(time.time() + moved, usegmt=True)
    cloud.answers("GET", "/v3", Reply(body=VERSION, headers={"Date": date}))
    version, clock = check("identity endpoints", identity=keystone(cloud.address))
    assert (version.level, clock.level) == ("ok", "warning")
    assert clock.text.startswith(f"the clock of {cloud.address} is ")
    assert said.split()[-1] in clock.text


def test_a_clock_that_is_a_little_off_is_no_matter(check: Check, cloud: CloudDouble) -> None:
    cloud.answers("GET", "/v3", Reply(body=VERSION, headers={"Date": formatdate(time.time() + 3, usegmt=True)}))
    assert found(check, cloud.address).level == "ok"


def test_plain_http_to_another_machine_is_a_warning(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> object:
        raise NoResponse("not tried")

    monkeypatch.setattr(openstack, "probe", nothing)
    warning, silence = check("identity endpoints", identity=keystone("http://identity.example.com:5000/v3"))
    assert warning.level == "warning"
    assert "passwords and tokens can be intercepted" in warning.text
    assert silence.level == "problem"
    assert levels(check("identity endpoints", identity=keystone("https://identity.example.com/v3"))) == ["problem"]


# TLS


def test_a_certificate_that_the_endpoints_file_vouches_for_is_well(check: Check) -> None:
    with CloudDouble(tls=True) as cloud:
        cloud.answers("GET", "/v3", Reply(body=VERSION))
        assert found(check, cloud.address, ca_file=CERTIFICATES / "rsa.pem").level == "ok"


def test_one_that_nobody_vouches_for_is_a_problem(check: Check) -> None:
    with CloudDouble(tls=True) as cloud:
        finding = found(check, cloud.address)
    assert finding.level == "problem"
    assert finding.text.startswith(f"the certificate of {cloud.address} is not trusted: self")
    assert "ca_file" in finding.fix


@pytest.mark.parametrize(("days", "level", "said"), [(13, "warning", "expires on"), (0, "problem", "expired on")])
def test_the_end_of_a_certificate_is_told(check: Check, days: int, level: str, said: str) -> None:
    with CloudDouble(tls=True) as cloud:
        cloud.answers("GET", "/v3", Reply(body=VERSION))
        end = probe(cloud.address, "/v3", ca_file=CERTIFICATES / "rsa.pem").certificate_end
        assert end is not None
        endpoints = keystone(cloud.address, ca_file=CERTIFICATES / "rsa.pem")
        _, finding = check("identity endpoints", now=end - days * 86_400, identity=endpoints)
    assert (finding.level, said in finding.text) == (level, True)


def test_https_where_plain_http_is_spoken_is_told(check: Check, cloud: CloudDouble) -> None:
    finding = found(check, cloud.address.replace("http:", "https:"))
    assert (finding.level, "does not speak https" in finding.text) == ("problem", True), finding


def test_plain_http_where_https_is_spoken_is_told(check: Check) -> None:
    with CloudDouble(tls=True) as cloud:
        finding = found(check, cloud.address.replace("https:", "http:"))
    assert (finding.level, finding.fix) == ("problem", "use https: in its address"), finding


# The keys


KEYSTONE_SET = keystone("https://identity.example.com/v3")


def keys_found(check: Check, **changes: Any) -> Finding:
    (finding,) = check("token keys", identity=KEYSTONE_SET, **changes)
    return finding


def test_no_keys_are_needed_without_an_openstack(check: Check) -> None:
    assert levels(check("token keys")) == ["ok"]


def test_keys_that_are_not_there_yet_will_be_made(check: Check, data: Path) -> None:
    finding = keys_found(check)
    assert finding == ok(f"{data / 'token-keys'} will be created when the console starts")
    assert not (data / "token-keys").exists()


def test_keys_for_which_there_is_no_folder_are_a_problem(check: Check, tmp_path: Path) -> None:
    finding = keys_found(check, token_keys=tmp_path / "none" / "keys")
    assert (finding.level, finding.command) == ("problem", f"mkdir -p -m 700 {tmp_path / 'none'}")


def test_keys_in_order_are_told(check: Check, tmp_path: Path) -> None:
    create_keys(tmp_path / "keys")
    assert keys_found(check, token_keys=tmp_path / "keys") == ok(f"{tmp_path / 'keys'} has 1 and is private")


@pytest.mark.parametrize("mode", [0o604, 0o660])
def test_keys_that_others_can_get_at_are_a_problem(check: Check, data: Path, mode: int) -> None:
    create_keys(data / "token-keys")
    (data / "token-keys").chmod(mode)
    finding = keys_found(check)
    assert (finding.level, finding.command) == ("problem", f"chmod 600 {data / 'token-keys'}")


@pytest.mark.parametrize("content", ["", "not a key\n", "\0\n"])
def test_garbled_keys_are_a_problem_and_are_not_shown(check: Check, data: Path, content: str) -> None:
    (data / "token-keys").write_text(content)
    (data / "token-keys").chmod(0o600)
    finding = keys_found(check)
    assert finding.level == "problem"
    assert "not a key" not in finding.text

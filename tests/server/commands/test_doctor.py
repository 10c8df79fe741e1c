"""`cloudconsole doctor` on the command line."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.doctor.context_and_findings import Check, DoctorContext, Finding, warning
from cloudconsole.server.doctor.runner import CHECKS
from tests.backends.openstack.fake_cloud import Reply
from tests.server.commands.conftest import Run
from tests.server.doctor.conftest import fail_logins
from tests.server.doctor.small_cloud import PASSWORD, USER, SmallCloud
from tests.terminal import Terminal

pytestmark = pytest.mark.embedded_only


def test_healthy_store_has_no_problems(cloudconsole: Run, tmp_path: Path) -> None:
    cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", stdin=b"a long secret")
    done = cloudconsole("doctor", "--data", tmp_path / "new", "--port", "0")
    assert (done.code, done.err) == (0, "")
    assert "ok       databases: cloud.db is intact and up to date\n" in done.out
    assert done.out.splitlines()[-1].startswith("problems: 0, ")


def test_problem_is_reported_with_fix_and_exit_code(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_NOPE", "1")
    done = cloudconsole("doctor", "--data", data, "--port", "0", "--quick")
    assert done.code == 1
    assert "problem  settings: CLOUDCONSOLE_NOPE: unknown setting" in done.out
    assert "         → correct or remove it" in done.out


def test_findings_can_be_printed_as_json(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("doctor", "--data", tmp_path / "none", "--port", "0", "--json")
    report = json.loads(done.out)
    assert (done.code, report["ok"]) == (1, False)
    assert {tuple(finding) for finding in report["findings"]} == {("check", "level", "text", "fix", "command")}


def test_fix_command_is_on_its_own_line_with_the_given_flags(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    config = tmp_path / "my console.toml"
    config.write_text("port = 0\n")
    fail_logins(data, "demo", "192.0.2.7", now=time.time())
    lines = cloudconsole("doctor", "--data", data, "--config", config, "--quick").out.splitlines()
    index = lines.index("warning  login throttle: logins of demo from 192.0.2.7 are throttled")
    command = "admin account clear-throttle demo"
    assert (
        lines[index + 2] == f"           {sys.executable} -m cloudconsole {command} --config '{config}' --data {data}"
    )


def test_invalid_flag_is_reported_and_dependent_checks_skipped(
    cloudconsole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cloudconsole("init", "--password-stdin", stdin=b"a long secret")
    (tmp_path / "file").touch()
    done = cloudconsole("doctor", "--data", "file", "--port", "http")
    assert done.code == 1
    assert "problem  settings: --data: file is a file, not a directory\n" in done.out
    assert "problem  settings: --port: must be a whole number" in done.out
    assert (
        "databases, totals, prices, times in the store, operators, sample passwords, login throttle, proxies, "
        "token keys, cloud: skipped: invalid value of data\n" in done.out
    )
    assert "warning  running console: skipped: invalid value of port\n" in done.out
    assert "is sound" not in done.out


UNTRUSTED = "a\x1b[2Jb\x9bc\u202ed\ne"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_untrusted_text_cannot_control_the_terminal(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    def check(_context: DoctorContext) -> Iterator[Finding]:
        yield warning(UNTRUSTED, UNTRUSTED)

    monkeypatch.setitem(CHECKS, "clock", Check(check))
    out = cloudconsole("doctor", "--data", data, "--port", "0", "--quick", *options).out
    assert all(line.isprintable() for line in out.split("\n"))
    if options:
        assert [finding["text"] for finding in json.loads(out)["findings"] if finding["check"] == "clock"] == [
            UNTRUSTED
        ]
    else:
        assert r"clock: a\x1b[2Jb\x9bc\u202ed\ne" in out


# Checks as a user of the cloud


@pytest.fixture
def cloud() -> Iterator[SmallCloud]:
    with SmallCloud() as fake:
        fake.respond("GET", "/v3", Reply(body={"version": {"id": "v3.14", "status": "stable"}}))
        yield fake


def flags(data: Path, *addresses: str) -> tuple[object, ...]:
    return (
        "doctor",
        "--data",
        data,
        "--port",
        "0",
        "--quick",
        "--identity",
        ",".join(f"keystone+{a}" for a in addresses),
    )


@pytest.mark.parametrize("at", [(), ("--at",)])
def test_services_are_checked_as_a_user_of_the_cloud(
    cloudconsole: Run, data: Path, cloud: SmallCloud, at: tuple[str, ...]
) -> None:
    endpoint = (*at, f"{cloud.address}/v3/") if at else ()
    done = cloudconsole(
        *flags(data, cloud.address), "--as", USER, *endpoint, "--password-stdin", stdin=PASSWORD.encode()
    )
    assert (done.code, done.err) == (0, "")
    assert "ok       cloud: region RegionOne: compute, volume, network, image, load-balancer respond\n" in done.out
    (login,) = (request.body for request in cloud.requests if request.method == "POST")
    assert login["auth"]["identity"]["password"]["user"]["password"] == PASSWORD


def test_failing_service_is_reported_without_log_output(cloudconsole: Run, data: Path, cloud: SmallCloud) -> None:
    cloud.respond("GET", "/compute/v2.1/limits", Reply(500))
    done = cloudconsole(*flags(data, cloud.address), "--as", USER, "--password-stdin", stdin=PASSWORD.encode())
    assert (done.code, done.err) == (1, "")
    assert "problem  cloud: region RegionOne: compute cannot be read: status 500\n" in done.out


def test_terminal_prompts_for_the_password_once(data: Path, cloud: SmallCloud) -> None:
    terminal = Terminal(data.parent, *map(str, flags(data, cloud.address)), "--as", USER)
    terminal.wait_for("Password: ")
    terminal.type_without_echo(f"{PASSWORD}\n")
    assert terminal.end() == 0
    assert "works in the project acme" in terminal.shown
    assert PASSWORD not in terminal.shown


@pytest.mark.parametrize(
    ("addresses", "options", "message"),
    [
        (("http://a.example",), ("--as", USER), "no terminal for the password prompt"),
        (("http://a.example",), ("--at", "http://a.example"), "need --as USER"),
        (("http://a.example",), ("--password-stdin",), "need --as USER"),
        (("http://a.example", "http://b.example"), ("--as", USER), "to: http://a.example or http://b.example"),
        (("http://a.example",), ("--as", USER, "--at", "http://b.example"), "to: http://a.example"),
        (("http://a.example",), ("--as", USER, "--at", "?"), "to: http://a.example"),
        ((), ("--as", USER), "--as: no Keystone identity endpoint is configured"),
    ],
)
def test_invalid_login_options_are_rejected_before_any_check(
    cloudconsole: Run, data: Path, addresses: tuple[str, ...], options: tuple[str, ...], message: str
) -> None:
    arguments = flags(data, *addresses) if addresses else ("doctor", "--data", data)
    done = cloudconsole(*arguments, *options)
    assert (done.code, done.out) == (1, "")
    assert message in done.err

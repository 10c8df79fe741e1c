"""`cloudconsole doctor` on the command line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.commands import doctor
from cloudconsole.server.doctor.context_and_findings import Check, Finding, ok, problem, warning
from cloudconsole.server.doctor.runner import CHECKS
from tests.backends.openstack.fake_cloud import Reply
from tests.conftest import SAMPLE_TIME
from tests.harness import FakeClock
from tests.server.commands.conftest import Run
from tests.server.doctor.conftest import fail_logins
from tests.server.doctor.small_cloud import PASSWORD, USER, SmallCloud
from tests.terminal import Terminal

pytestmark = pytest.mark.embedded_only

UNTRUSTED = "a\x1b[2Jb\x9bc\u202ed\ne"
FAULT = problem(UNTRUSTED, UNTRUSTED, UNTRUSTED)


def fixed_check(findings: list[Finding]) -> Check:
    return Check(lambda _context: iter(findings))


@pytest.fixture
def three_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the checks; two of these have the same finding, with text that must not control the terminal."""
    for name in list(CHECKS):
        monkeypatch.delitem(CHECKS, name)
    for name, findings in {"one": [ok("fine"), warning("odd", "look")], "two": [FAULT], "three": [FAULT]}.items():
        monkeypatch.setitem(CHECKS, name, fixed_check(findings))


@pytest.mark.usefixtures("three_checks")
def test_findings_are_printed_as_escaped_text(cloudconsole: Run, data: Path) -> None:
    escaped = r"a\x1b[2Jb\x9bc\u202ed\ne"
    assert cloudconsole("doctor", "--data", data) == (
        1,
        "ok       one: fine\nwarning  one: odd\n         → look\n"
        f"problem  two, three: {escaped}\n         → {escaped}:\n           {escaped}\nproblems: 1, warnings: 1\n",
        "",
    )


@pytest.mark.usefixtures("three_checks")
def test_findings_can_be_printed_as_json(cloudconsole: Run, data: Path) -> None:
    done = cloudconsole("doctor", "--data", data, "--json")
    report = json.loads(done.out)
    assert (done.code, report["ok"]) == (1, False)
    assert [finding["check"] for finding in report["findings"]] == ["one", "one", "two", "three"]
    assert report["findings"][-1] == {"check": "three", **FAULT._asdict()}
    assert all(line.isprintable() for line in done.out.split("\n"))


def test_healthy_store_has_no_problems(cloudconsole: Run, tmp_path: Path) -> None:
    cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", stdin=b"a long secret")
    done = cloudconsole("doctor", "--data", tmp_path / "new", "--port", "0")
    assert (done.code, done.err) == (0, "")
    assert "ok       databases: cloud.db is intact and up to date\n" in done.out
    assert done.out.splitlines()[-1].startswith("problems: 0, ")


def test_fix_command_is_on_its_own_line_with_the_given_flags(
    cloudconsole: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "my console.toml"
    config.write_text("port = 0\n")
    fail_logins(data, "demo", "192.0.2.7")
    monkeypatch.setattr(doctor, "SystemClock", lambda: FakeClock(SAMPLE_TIME))
    lines = cloudconsole("doctor", "--data", data, "--config", config, "--quick").out.splitlines()
    index = lines.index("warning  login throttle: logins of demo from 192.0.2.7 are throttled")
    command = f"cloudconsole admin account clear-throttle demo --config '{config}' --data {data}"
    assert lines[index + 2] == f"           {sys.executable} -m {command}"


@pytest.fixture
def cloud() -> Iterator[SmallCloud]:
    with SmallCloud() as fake:
        fake.respond("GET", "/v3", Reply(body={"version": {"id": "v3.14", "status": "stable"}}))
        yield fake


def flags(data: Path, *addresses: str) -> tuple[object, ...]:
    identity = ",".join(f"keystone+{address}" for address in addresses)
    return ("doctor", "--data", data, "--port", "0", "--quick", "--identity", identity)


@pytest.mark.parametrize("path", [None, "/v3/"])
def test_services_are_checked_as_a_user(cloudconsole: Run, data: Path, cloud: SmallCloud, path: str | None) -> None:
    login = ("--as", USER, "--password-stdin", *(() if path is None else ("--at", cloud.address + path)))
    done = cloudconsole(*flags(data, cloud.address), *login, stdin=PASSWORD.encode())
    assert (done.code, done.err) == (0, "")
    assert "ok       cloud: region RegionOne: compute, volume, network, image, load-balancer respond\n" in done.out
    (sent,) = (request.body for request in cloud.requests if request.method == "POST")
    assert sent["auth"]["identity"]["password"]["user"]["password"] == PASSWORD


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

"""`cloudconsole doctor` as an operator meets it."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.server.doctor.results import Check, DoctorContext, Finding, warning
from cloudconsole.server.doctor.runner import CHECKS
from tests.backends.openstack.fake_cloud import Reply
from tests.server.commands.conftest import Run
from tests.server.doctor.conftest import fail_logins
from tests.server.doctor.small_cloud import PASSWORD, USER, SmallCloud
from tests.terminal import Terminal

pytestmark = pytest.mark.embedded_only


def test_a_store_in_order_gets_a_clean_bill(cloudconsole: Run, tmp_path: Path) -> None:
    cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", stdin=b"a long secret")
    done = cloudconsole("doctor", "--data", tmp_path / "new", "--port", "0")
    assert (done.code, done.err) == (0, "")
    assert "ok       databases: cloud.db is intact and up to date\n" in done.out
    assert done.out.splitlines()[-1].startswith("problems: 0, ")


def test_a_problem_is_told_with_its_mend_and_the_exit_code(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_NOPE", "1")
    done = cloudconsole("doctor", "--data", data, "--port", "0", "--quick")
    assert done.code == 1
    assert "problem  settings: CLOUDCONSOLE_NOPE: unknown setting" in done.out
    assert "         → correct or remove it" in done.out


def test_findings_can_be_had_as_json(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("doctor", "--data", tmp_path / "none", "--port", "0", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["ok"]) == (1, False)
    assert {tuple(finding) for finding in answer["findings"]} == {("check", "level", "text", "fix", "command")}


def test_a_command_stands_on_a_line_of_its_own_with_the_flags_that_were_given(
    cloudconsole: Run, data: Path, tmp_path: Path
) -> None:
    config = tmp_path / "my console.toml"
    config.write_text("port = 0\n")
    fail_logins(data, "demo", "192.0.2.7", now=time.time())
    said = cloudconsole("doctor", "--data", data, "--config", config, "--quick").out.splitlines()
    place = said.index("warning  login throttle: logins of demo from 192.0.2.7 are throttled")
    words = "admin account clear-throttle demo"
    assert said[place + 2] == f"           {sys.executable} -m cloudconsole {words} --config '{config}' --data {data}"


def test_a_wrong_flag_is_told_and_nothing_else_is_looked_at_instead(
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


ODD = "a\x1b[2Jb\x9bc\u202ed\ne"


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_what_others_said_cannot_act_upon_a_terminal(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    def say(_case: DoctorContext) -> Iterator[Finding]:
        yield warning(ODD, ODD)

    monkeypatch.setitem(CHECKS, "clock", Check(say))
    out = cloudconsole("doctor", "--data", data, "--port", "0", "--quick", *form).out
    assert all(line.isprintable() for line in out.split("\n"))
    if form:
        assert [finding["text"] for finding in json.loads(out)["findings"] if finding["check"] == "clock"] == [ODD]
    else:
        assert r"clock: a\x1b[2Jb\x9bc\u202ed\ne" in out


# As a user of the cloud


@pytest.fixture
def cloud() -> Iterator[SmallCloud]:
    with SmallCloud() as double:
        double.answers("GET", "/v3", Reply(body={"version": {"id": "v3.14", "status": "stable"}}))
        yield double


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
def test_a_user_of_the_cloud_sees_its_services(
    cloudconsole: Run, data: Path, cloud: SmallCloud, at: tuple[str, ...]
) -> None:
    where = (*at, f"{cloud.address}/v3/") if at else ()
    done = cloudconsole(*flags(data, cloud.address), "--as", USER, *where, "--password-stdin", stdin=PASSWORD.encode())
    assert (done.code, done.err) == (0, "")
    assert "ok       cloud: region RegionOne: compute, volume, network, image, load-balancer respond\n" in done.out
    (login,) = (asked.body for asked in cloud.asked if asked.method == "POST")
    assert login["auth"]["identity"]["password"]["user"]["password"] == PASSWORD


def test_what_fails_there_leaves_no_line_of_a_log(cloudconsole: Run, data: Path, cloud: SmallCloud) -> None:
    cloud.answers("GET", "/compute/v2.1/limits", Reply(500))
    done = cloudconsole(*flags(data, cloud.address), "--as", USER, "--password-stdin", stdin=PASSWORD.encode())
    assert (done.code, done.err) == (1, "")
    assert "problem  cloud: region RegionOne: compute cannot be read: status 500\n" in done.out


def test_the_password_is_asked_for_once_at_a_terminal(data: Path, cloud: SmallCloud) -> None:
    terminal = Terminal(data.parent, *map(str, flags(data, cloud.address)), "--as", USER)
    terminal.wait_for("Password: ")
    terminal.type_unseen(f"{PASSWORD}\n")
    assert terminal.end() == 0
    assert "works in the project acme" in terminal.shown
    assert PASSWORD not in terminal.shown


@pytest.mark.parametrize(
    ("addresses", "more", "said"),
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
def test_a_login_that_cannot_be_meant_is_refused_before_anything_is_looked_at(
    cloudconsole: Run, data: Path, addresses: tuple[str, ...], more: tuple[str, ...], said: str
) -> None:
    given = flags(data, *addresses) if addresses else ("doctor", "--data", data)
    done = cloudconsole(*given, *more)
    assert (done.code, done.out) == (1, "")
    assert said in done.err

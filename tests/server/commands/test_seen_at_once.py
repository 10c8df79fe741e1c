"""A console that is running: what an operator's command changes, it serves from the next call on."""

from pathlib import Path
from typing import Any

import pytest

from cloudconsole.cli.main import main
from tests.harness import Caller, InProcess
from tests.stores import variables_of


@pytest.fixture(autouse=True)
def of_this_store(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CLOUDCONSOLE_DATA": str(data), **variables_of(data)}.items():
        monkeypatch.setenv(name, value)


def admin(*arguments: str) -> None:
    assert main(["admin", *arguments]) == 0


def answer(caller: Caller, action: str) -> Any:
    reply = caller.call(action)
    assert reply.status == 200
    return reply.envelope["data"]


def test_a_disabled_flavor_is_not_offered(demo: Caller) -> None:
    assert "m1.tiny" in str(answer(demo, "GetFlavors"))
    admin("flavor", "disable", "1")
    assert "m1.tiny" not in str(answer(demo, "GetFlavors"))
    admin("flavor", "enable", "1")
    assert "m1.tiny" in str(answer(demo, "GetFlavors"))


def test_a_disabled_url_is_not_shown(demo: Caller) -> None:
    admin("url", "add", "url-zzzzzzzz", "--type", "link", "--url", "https://new.example.com/")
    assert "url-zzzzzzzz" in str(answer(demo, "GetUrlList"))
    admin("url", "disable", "url-zzzzzzzz")
    assert "url-zzzzzzzz" not in str(answer(demo, "GetUrlList"))


def test_withdrawn_news_are_gone(demo: Caller) -> None:
    link = "https://new.example.com/"
    admin("news", "add", "99", "--title", "Brand new", "--url", link, "--date", "2026-11-15T12:00:00Z")
    assert "Brand new" in str(answer(demo, "GetNews"))
    admin("news", "disable", "99")
    assert "Brand new" not in str(answer(demo, "GetNews"))


def test_a_resource_counts_as_soon_as_it_is_recorded(demo: Caller) -> None:
    before = answer(demo, "GetUsageLimits")["totalVolumesUsed"]
    command = ("resource", "add", "v-new", "--tenant", "demo", "--kind", "volume", "--name", "new", "--node", "hk-1")
    admin(*command, "--size", "1", "--started", "2026-11-01")
    assert answer(demo, "GetUsageLimits")["totalVolumesUsed"] == before + 1
    admin("resource", "end", "v-new", "--at", "2026-11-02")
    assert answer(demo, "GetUsageLimits")["totalVolumesUsed"] == before


def test_a_disabled_tenant_is_shut_out_at_once_and_let_in_again(wire: InProcess, demo: Caller) -> None:
    admin("tenant", "disable", "demo")
    assert demo.call("GetUsageLimits").status == 401
    assert Caller(wire).login().status == 401
    assert Caller(wire).login("other", "console-other").status == 200
    admin("tenant", "enable", "demo")
    assert demo.call("GetUsageLimits").status == 401
    assert Caller(wire).login().status == 200


@pytest.mark.parametrize(
    "command",
    [("disable", "demo"), ("end-sessions", "demo"), ("change", "demo", "--role", "operator"), ("remove", "demo")],
)
def test_what_concerns_an_account_ends_its_sessions(demo: Caller, command: tuple[str, ...]) -> None:
    admin("account", *command)
    assert demo.call("GetUsageLimits").status == 401


def test_a_reset_password_is_the_one_that_counts(wire: InProcess, demo: Caller, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("another one\n")
    admin("account", "password", "demo", "--password-file", str(tmp_path / "password"))
    assert demo.call("GetUsageLimits").status == 401
    assert Caller(wire).login().status == 401
    assert Caller(wire).login(password="another one").status == 200


def test_a_cleared_throttle_lets_in_again(wire: InProcess) -> None:
    for _ in range(10):
        assert Caller(wire).login(password="wrong").status == 401
    assert Caller(wire).login().status == 429
    admin("account", "clear-throttle", "demo", "--address", "203.0.113.77")
    assert Caller(wire).login().status == 429
    admin("account", "clear-throttle", "demo")
    assert Caller(wire).login().status == 200

"""Operator commands take effect in a running console with the next request."""

from pathlib import Path
from typing import Any

import pytest

from cloudconsole.cli.main import main
from tests.harness import ApiClient, InProcessTransport
from tests.stores import database_environment


@pytest.fixture(autouse=True)
def use_store(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CLOUDCONSOLE_DATA": str(data), **database_environment(data)}.items():
        monkeypatch.setenv(name, value)


def admin(*arguments: str) -> None:
    assert main(["admin", *arguments]) == 0


def response_data(client: ApiClient, action: str) -> Any:
    reply = client.call(action)
    assert reply.status == 200
    return reply.envelope["data"]


def test_a_disabled_flavor_is_not_offered(demo: ApiClient) -> None:
    assert "m1.tiny" in str(response_data(demo, "GetFlavors"))
    admin("flavor", "disable", "1")
    assert "m1.tiny" not in str(response_data(demo, "GetFlavors"))
    admin("flavor", "enable", "1")
    assert "m1.tiny" in str(response_data(demo, "GetFlavors"))


def test_a_disabled_url_is_not_shown(demo: ApiClient) -> None:
    admin("url", "add", "url-zzzzzzzz", "--type", "link", "--url", "https://new.example.com/")
    assert "url-zzzzzzzz" in str(response_data(demo, "GetUrlList"))
    admin("url", "disable", "url-zzzzzzzz")
    assert "url-zzzzzzzz" not in str(response_data(demo, "GetUrlList"))


def test_disabled_news_are_not_shown(demo: ApiClient) -> None:
    link = "https://new.example.com/"
    admin("news", "add", "99", "--title", "Brand new", "--url", link, "--date", "2026-11-15T12:00:00Z")
    assert "Brand new" in str(response_data(demo, "GetNews"))
    admin("news", "disable", "99")
    assert "Brand new" not in str(response_data(demo, "GetNews"))


def test_resource_change_updates_usage_at_once(demo: ApiClient) -> None:
    before = response_data(demo, "GetUsageLimits")["totalVolumesUsed"]
    command = ("resource", "add", "v-new", "--tenant", "demo", "--kind", "volume", "--name", "new", "--node", "hk-1")
    admin(*command, "--size", "1", "--started", "2026-11-01")
    assert response_data(demo, "GetUsageLimits")["totalVolumesUsed"] == before + 1
    admin("resource", "end", "v-new", "--at", "2026-11-02")
    assert response_data(demo, "GetUsageLimits")["totalVolumesUsed"] == before


def test_disabled_tenant_cannot_log_in_until_enabled(transport: InProcessTransport, demo: ApiClient) -> None:
    admin("tenant", "disable", "demo")
    assert demo.call("GetUsageLimits").status == 401
    assert ApiClient(transport).login().status == 401
    assert ApiClient(transport).login("other", "console-other").status == 200
    admin("tenant", "enable", "demo")
    assert demo.call("GetUsageLimits").status == 401
    assert ApiClient(transport).login().status == 200


@pytest.mark.parametrize(
    "command",
    [("disable", "demo"), ("end-sessions", "demo"), ("change", "demo", "--role", "operator"), ("remove", "demo")],
)
def test_account_change_ends_its_sessions(demo: ApiClient, command: tuple[str, ...]) -> None:
    admin("account", *command)
    assert demo.call("GetUsageLimits").status == 401


def test_reset_password_replaces_the_old_one(transport: InProcessTransport, demo: ApiClient, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("another one\n")
    admin("account", "password", "demo", "--password-file", str(tmp_path / "password"))
    assert demo.call("GetUsageLimits").status == 401
    assert ApiClient(transport).login().status == 401
    assert ApiClient(transport).login(password="another one").status == 200


def test_clearing_the_throttle_allows_logins_again(transport: InProcessTransport) -> None:
    for _ in range(10):
        assert ApiClient(transport).login(password="wrong").status == 401
    assert ApiClient(transport).login().status == 429
    admin("account", "clear-throttle", "demo", "--address", "203.0.113.77")
    assert ApiClient(transport).login().status == 429
    admin("account", "clear-throttle", "demo")
    assert ApiClient(transport).login().status == 200

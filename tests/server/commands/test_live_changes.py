"""Operator commands take effect in a running console with the next request."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import ApiClient, InProcessTransport
from tests.server.commands.conftest import Run

Admin = Callable[[str], None]


@pytest.fixture
def admin(cloudconsole: Run, data: Path) -> Admin:
    def run(command: str) -> None:
        assert cloudconsole("admin", *command.split(), "--data", data).code == 0

    return run


@pytest.mark.parametrize(
    ("action", "shown", "add", "key"),
    [
        ("GetFlavors", "m1.tiny", None, "flavor 1"),
        ("GetUrlList", "url-zzzzzzzz", "url add url-zzzzzzzz --type link --url https://e.com/", "url url-zzzzzzzz"),
        ("GetNews", "Brand-new", "news add 99 --title Brand-new --url https://e.com/ --date 2026-11-15", "news 99"),
    ],
)
def test_disabled_entity_is_not_shown(
    demo: ApiClient, admin: Admin, action: str, shown: str, add: str | None, key: str
) -> None:
    def is_shown() -> bool:
        return shown in str(demo.call(action).data)

    assert is_shown() is (add is None)
    if add:
        admin(add)
    for verb, expected in (("disable", False), ("enable", True)):
        admin(key.replace(" ", f" {verb} "))
        assert is_shown() is expected


def test_disabled_tenant_cannot_log_in_until_enabled(
    transport: InProcessTransport, demo: ApiClient, admin: Admin
) -> None:
    admin("tenant disable demo")
    assert demo.call("GetUsageLimits").status == 401
    assert ApiClient(transport).login().status == 401
    assert ApiClient(transport).login("other", "console-other").status == 200
    admin("tenant enable demo")
    assert demo.call("GetUsageLimits").status == 401
    assert ApiClient(transport).login().status == 200

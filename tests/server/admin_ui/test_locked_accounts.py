"""Accounts locked by failed sign-ins: shown on the overview, in lists and on their pages, where they are unlocked."""

import pytest

from cloudconsole.core.login_throttle import USER_FAILURES, WINDOW_SECONDS
from tests.harness import ApiClient, FakeClock, InProcessTransport
from tests.server.admin_ui.pages import Operator, Page
from tests.server.admin_ui.test_attention import entries

ACCOUNT = "/admin/account/one/?key=demo"
UNLOCK = "/admin/account/clear-throttle/?key=demo"


def fail(transport: InProcessTransport, times: int, username: str = "demo") -> None:
    client = ApiClient(transport)
    for _ in range(times):
        assert client.login(username, "wrong").status == 401


def row_of(page: Page, username: str) -> str:
    (row,) = [row for row in page.root.iter("tr") if username in "".join(row.itertext()).split()]
    return " ".join("".join(row.itertext()).split())


def test_locked_account_is_shown_everywhere_and_can_be_unlocked(
    operator: Operator, transport: InProcessTransport
) -> None:
    fail(transport, USER_FAILURES)
    locked, failures = entries(operator.get("/admin/"))
    assert locked == "Warning Accounts locked by failed sign-ins, each for a few minutes: 1 demo"
    assert failures.startswith("Warning Failed sign-ins of tenants")
    page = operator.get(ACCOUNT)
    assert page.heading == "Account demo locked"
    assert "Failed sign-ins in the last 5 minutes 10 – sign-ins from the same address are locked" in page.text
    accounts = operator.get("/admin/account/")
    assert row_of(accounts, "demo").endswith("locked")
    assert row_of(accounts, "other").endswith("active")
    assert "demo locked" in operator.get("/admin/tenant/one/?key=demo").text
    assert UNLOCK in page.links
    page = operator.send(operator.get(UNLOCK).form("/clear-throttle/"))
    assert (page.heading, UNLOCK in page.links) == ("Account demo", False)
    assert "locked" not in row_of(operator.get("/admin/account/"), "demo")


def test_fewer_failures_can_be_cleared_but_lock_nothing(operator: Operator, transport: InProcessTransport) -> None:
    fail(transport, USER_FAILURES - 1)
    page = operator.get(ACCOUNT)
    assert (page.heading, UNLOCK in page.links) == ("Account demo", True)
    assert "Failed sign-ins in the last 5 minutes 9" in page.text
    assert [text for text in entries(operator.get("/admin/")) if "locked" in text] == []
    assert "locked" not in operator.get("/admin/account/").text


def test_lock_ends_with_its_time(operator: Operator, transport: InProcessTransport, clock: FakeClock) -> None:
    fail(transport, USER_FAILURES)
    clock.moment += WINDOW_SECONDS
    assert operator.get(ACCOUNT).heading == "Account demo"
    assert [text for text in entries(operator.get("/admin/")) if "locked" in text] == []


def test_locked_name_without_an_account_is_not_shown(operator: Operator, transport: InProcessTransport) -> None:
    fail(transport, USER_FAILURES, "nobody")
    assert [text for text in entries(operator.get("/admin/")) if "locked" in text] == []


@pytest.mark.parametrize(("username", "last"), [("demo", "2026-11-15 12:20:00"), ("other", "no recorded sign-in")])
def test_last_sign_in_is_shown(operator: Operator, demo: ApiClient, username: str, last: str) -> None:
    assert demo
    page = operator.get(f"/admin/account/one/?key={username}")
    assert f"Last sign-in {last}" in page.text
    assert (f"All sign-ins {last} succeeded 127.0.0.1 Sign in" in page.text) is (username == "demo")

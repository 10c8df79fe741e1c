"""Content that tests set."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from cloudconsole import Console, InvalidCredentials
from cloudconsole.testing import ConsoleServer
from tests.server.test_mode.conftest import Control

NEWS = {"id": 99, "date": datetime(2025, 12, 31, tzinfo=UTC), "title": "Tests", "url": "https://news.example/"}
SAMPLE_TIME = "2026-11-15T12:00:00Z"
"""When resources of the sample run."""
ALICE = {"username": "alice", "password": "secret of alice"}
PRICE = {"kind": "loadbalance", "unit": "each", "from": "2025-02-01T00:00:00Z", "price": Decimal("0.5")}


def titles(client: Console) -> list[str]:
    return [item.title for item in client.news()]


def test_sections_are_replaced_and_others_stay(console: ConsoleServer) -> None:
    with console.client() as demo:
        urls = demo.urls()
        console.load({"news": [NEWS]})
        assert titles(demo) == ["Tests"]
        assert demo.urls() == urls
        console.load({"news": []})
        assert titles(demo) == []


def test_items_are_added(console: ConsoleServer) -> None:
    with console.client() as demo:
        before = titles(demo)
        console.add({"news": [NEWS]})
        assert titles(demo) == ["Tests", *before]


@pytest.mark.parametrize("price", [Decimal("0.5"), 0.5, "0.5"])
def test_single_price_is_added_exactly(console: ConsoleServer, price: Any) -> None:
    with console.client() as demo:
        before = demo.prices()
        console.add({"prices": [{**PRICE, "price": price}]})
        added = [each for each in demo.prices() if each not in before]
        assert Decimal("0.5") in [each.price for each in added]


def test_tenant_keeps_the_fields_that_are_not_given(console: ConsoleServer) -> None:
    with console.client() as demo:
        before = demo.usage_limits()
        console.load({"tenants": [{"name": "demo", "quotas": {"instances": 5}}]})
        after = demo.usage_limits()
    assert (before.instances.limit, after.instances.limit) == (20, 5)
    assert after.cores == before.cores


def test_quota_below_the_usage_is_allowed(console: ConsoleServer) -> None:
    console.set_clock(SAMPLE_TIME)
    console.load({"tenants": [{"name": "demo", "quotas": {"instances": 1}}]})
    with console.client() as demo:
        instances = demo.usage_limits().instances
    assert (instances.used, instances.limit) == (4, 1)


def test_new_tenant_can_log_in_until_the_reset(console: ConsoleServer) -> None:
    console.load({"tenants": [{"name": "new", "accounts": [ALICE]}]})
    with console.client("alice") as alice:
        assert alice.usage_limits().instances.used == 0
    console.reset()
    assert "alice" not in console.accounts
    alice = Console(console.address, region=console.region, username="alice", password=ALICE["password"])
    with alice, pytest.raises(InvalidCredentials):
        alice.login()


def test_accounts_and_resources_are_added_to_a_tenant(console: ConsoleServer) -> None:
    volume = {
        "id": "v-1",
        "kind": "volume",
        "name": "data",
        "size": 10,
        "node": "hk-1",
        "started": "2025-12-01T00:00:00Z",
    }
    with console.client() as demo:
        before = demo.usage_limits().volumes.used
        console.add({"tenants": [{"name": "demo", "accounts": [ALICE], "resources": [volume]}]})
        assert demo.usage_limits().volumes.used == before + 1
    with console.client("alice") as alice:
        assert alice.usage_limits().volumes.used == before + 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"nws": []}, "nws"),
        ({"news": {}}, "news"),
        ({"news": [{"id": 1}]}, r"news\[0\].title"),
        ({"prices": []}, "no price on this node .*; and 11 more"),
        ({"tenants": {}}, "tenants"),
        ({"tenants": [7]}, "tenants"),
        ({"tenants": [{}]}, "name"),
        ({"tenants": [{"name": "demo", "quotas": {"cores": "{many}"}}]}, r"tenants\['demo'\].quotas.cores"),
        ({"tenants": [{"name": "demo", "accounts": [{"username": "x"}]}]}, r"tenants\['demo'\].accounts\[0\]"),
    ],
)
def test_invalid_content_is_an_error_and_changes_nothing(
    console: ConsoleServer, content: dict[str, Any], problem: str
) -> None:
    with console.client() as demo:
        before = demo.news(), demo.usage_limits()
        with pytest.raises(ValueError, match=f"content is invalid: .*{problem}"):
            console.load({**content, "urls": []})
        assert (demo.news(), demo.usage_limits()) == before
        assert demo.urls()


def test_problem_of_added_content_names_the_given_item(console: ConsoleServer) -> None:
    news = {"id": 1, "date": "2026-01-01T00:00:00Z", "url": "https://example.com/", "title": "again"}
    with pytest.raises(ValueError, match=r"^content is invalid: news\[0\].id: duplicates the store's news\[0\].id.$"):
        console.add({"news": [news]})
    with pytest.raises(ValueError, match=r"^content is invalid: news\[1\].id: duplicates news\[0\].id.$"):
        console.add({"news": [news | {"id": 99}] * 2})


@pytest.mark.parametrize("content", [[], "news", None])
def test_content_must_be_a_mapping(console: ConsoleServer, content: Any) -> None:
    with pytest.raises(TypeError, match="content must be a mapping"):
        console.load(content)


def test_content_must_be_representable_in_json(console: ConsoleServer) -> None:
    with pytest.raises(TypeError, match="cannot be sent as JSON"):
        console.load({"news": [object()]})


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{}", "missing_field"),
        (b'{"replace": null}', "missing_field"),
        (b'{"add": []}', "invalid_field"),
        (b'{"add": {}, "replace": {}}', "invalid_field"),
    ],
)
def test_control_needs_one_object(control: Control, body: bytes, error: str) -> None:
    assert control("content", body).error == error

"""Resources of OpenStack projects without a price: which there are, and that no change of prices causes them."""

from datetime import UTC
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import Amounts, BillableResource
from cloudconsole.operator.entities import NODES, PRICES
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.unpriced_resources import UnpricedResources, unpriced_resources
from cloudconsole.store.billing.readings import Reading, record_reading
from tests.operator.clouds import contents, load_text
from tests.operator.transactions import NOW, rejected, transaction

DAY = 86_400
PROJECT = "p1@https://keystone.example.com"


def read_project(engine: Engine, *resources: BillableResource, at: int = NOW, project: str = PROJECT) -> None:
    assert record_reading(engine, Reading(project, at, at - 7200, resources), UTC)


def server(resource_id: str, flavor: str, region: str = "west") -> BillableResource:
    return BillableResource(region, "instance", resource_id, Amounts(1, 1, 1024, 1), flavor)


def balancer(region: str) -> BillableResource:
    return BillableResource(region, "loadbalance", f"lb-{region}", Amounts(items=1))


def unpriced(engine: Engine, now: int = NOW) -> list[UnpricedResources]:
    with transaction(engine, now=now) as tx:
        return list(unpriced_resources(tx))


def test_resources_of_the_store_always_have_a_price(small: Engine) -> None:
    assert unpriced(small) == []


def test_resources_of_projects_without_a_price_are_found(engine: Engine) -> None:
    with transaction(engine) as tx:
        NODES.add(tx, {"name": "east"})
        tiny = {"kind": "instance", "unit": "each", "type": "tiny", "price": "1", "from": "2026-01-01T00:00:00Z"}
        PRICES.add(tx, tiny)
        PRICES.add(tx, {"kind": "loadbalance", "unit": "each", "price": "1", "from": format_utc(NOW + 60)})
    read_project(engine, server("1", "tiny"), server("2", "large"), server("3", "large"), balancer("east"))
    read_project(engine, server("4", "large"), project=PROJECT.replace("p1", "p2"))
    assert unpriced(engine) == [
        UnpricedResources("instance", "large", "west", False, 3, 2),
        UnpricedResources("loadbalance", None, "east", True, 1, 1),
    ]
    assert unpriced(engine, NOW + 60) == [UnpricedResources("instance", "large", "west", False, 3, 2)]


def test_what_has_ended_or_was_not_read_for_a_month_needs_no_price(engine: Engine) -> None:
    read_project(engine, server("1", "tiny"), server("2", "large"))
    read_project(engine, server("1", "tiny"), at=NOW + 3600)
    assert [each.type for each in unpriced(engine, NOW + 3600)] == ["tiny"]
    assert unpriced(engine, NOW + 3600 + 30 * DAY) == []


CLOUD = """\
version: 1
nodes: [west]
prices:
  - {kind: instance, unit: vcpu, price: "0.03", from: 2026-01-01}
  - {kind: instance, unit: each, type: tiny, price: "0.02", from: 2026-01-01}
  - {kind: loadbalance, unit: each, node: west, price: "0.01", from: 2026-01-01}
  - {kind: loadbalance, unit: each, price: "0.02", from: 2027-02-01}
"""
VCPU = "instance/vcpu/2026-01-01"
TINY = "instance:tiny/each/2026-01-01"
BALANCER = "loadbalance/each/2026-01-01/west"


@pytest.fixture
def priced(engine: Engine, tmp_path: Path) -> Engine:
    load_text(engine, tmp_path, CLOUD)
    read_project(engine, server("1", "tiny"), server("2", "large"), server("3", "large"), balancer("west"))
    return engine


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("key", "message"),
    [
        (VCPU, "^2 resources of kind instance large in west, of 1 project in OpenStack, would have no price: "),
        (BALANCER, "^1 resource of kind loadbalance in west, .* needs a price of 0$"),
    ],
)
def test_price_of_what_runs_in_a_project_cannot_be_removed(priced: Engine, key: str, message: str, force: bool) -> None:
    with rejected(priced, message, force=force) as tx:
        PRICES.remove(tx, key)


def test_price_in_whose_place_another_applies_can_be_removed(priced: Engine) -> None:
    with transaction(priced, force=True) as tx:
        PRICES.remove(tx, TINY)
        PRICES.change(tx, VCPU, {"price": "0"})
        PRICES.add(tx, {"kind": "loadbalance", "unit": "each", "price": "1", "from": "2027-01-01"})
        PRICES.remove(tx, BALANCER)
    assert unpriced(priced) == []


def test_price_of_what_has_ended_or_was_not_read_for_a_month_can_be_removed(priced: Engine) -> None:
    read_project(priced, server("1", "tiny"), at=NOW + 3600)
    with transaction(priced, now=NOW + 7200, force=True) as tx:
        PRICES.remove(tx, BALANCER)
    with rejected(priced, "of kind instance tiny", now=NOW + 30 * DAY, force=True) as tx:
        PRICES.remove(tx, TINY)
        PRICES.remove(tx, VCPU)
    with transaction(priced, now=NOW + 3600 + 30 * DAY, force=True) as tx:
        PRICES.remove(tx, TINY)
        PRICES.remove(tx, VCPU)


WITHOUT_NODE = """\
version: 1
prices:
  - {kind: instance, unit: vcpu, price: "0.03", from: 2026-01-01}
"""


LATER = CLOUD.replace('"0.01", from: 2026-01-01', '"0.01", from: 2027-01-16')


@pytest.mark.parametrize("text", [LATER, WITHOUT_NODE])
def test_file_without_the_price_of_what_runs_in_a_project_is_rejected(
    priced: Engine, tmp_path: Path, text: str
) -> None:
    before = contents(priced)
    with pytest.raises(OperatorError, match=r"^1 resource of kind loadbalance in west, .* would have no price"):
        load_text(priced, tmp_path, text)
    assert contents(priced) == before

"""Over quota: refused with the figures, unless forced."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.entities import QUOTAS, RESOURCES
from cloudconsole.operator.errors import OverridableError
from tests.operator.clouds import assert_all_counted
from tests.operator.transactions import NOW, desk_of, refused

KINDS = (("instance", "vcpu"), ("image", "gb"), ("loadbalance", "each"), ("volume", "gb"))
PRICES = ", ".join(f"{{kind: {kind}, unit: {unit}, price: 1, from: 2026-01-01}}" for kind, unit in KINDS)
TIGHT = "{instances: 2, cores: 4, ram: 4096, volumes: 2, gigabytes: 10, snapshots: 1, floating_ips: 0, keypairs: 1}"
CLOUD = f"version: 1\nnodes: [n1]\nprices: [{PRICES}]\ntenants: [{{name: t1, quotas: {TIGHT}}}, {{name: t2}}]\n"


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    return engine_with(CLOUD)


def thing(resource_id: str, kind: str, **more: Any) -> dict[str, Any]:
    place = {} if kind in ("security_group", "keypair") else {"node": "n1"}
    return {"tenant": "t1", "id": resource_id, "kind": kind, "name": "a", **place, **more}


def instance(resource_id: str, vcpus: int = 1, ram: int = 1, **more: Any) -> dict[str, Any]:
    return thing(resource_id, "instance", vcpus=vcpus, ram=ram, **more)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (instance("x", vcpus=5), r"over quota \(cores: 0 of 4 in use, 5 more requested\)"),
        (instance("x", ram=4097), r"\(ram: 0 of 4096 in use, 4097 more requested\)"),
        (instance("x", vcpus=5, ram=4097), r"\(cores: 0 of 4 .*; ram: 0 of 4096 .*\)"),
        (thing("x", "volume", size=11), r"\(gigabytes: 0 of 10 in use, 11 more requested\)"),
        (thing("x", "snapshot", size=11), r"\(gigabytes: 0 of 10 in use, 11 more requested\)"),
        (thing("x", "floating_ip"), r"\(floating_ips: 0 of 0 in use, 1 more requested\)"),
    ],
)
def test_more_than_a_quota_is_refused_with_the_figures(store: Engine, values: dict[str, Any], words: str) -> None:
    with refused(store, words) as desk:
        RESOURCES.add(desk, values)


def test_a_quota_can_be_used_up(store: Engine) -> None:
    with desk_of(store) as desk:
        for place in range(2):
            RESOURCES.add(desk, instance(f"i-{place}", vcpus=2, ram=2048))
    with refused(store, r"\(instances: 2 of 2 in use, 1 more requested; cores: 4 of 4 in use") as desk:
        RESOURCES.add(desk, instance("i-3"))


def test_snapshots_take_gigabytes_like_volumes(store: Engine) -> None:
    with desk_of(store) as desk:
        RESOURCES.add(desk, thing("v", "volume", size=6))
        RESOURCES.add(desk, thing("s", "snapshot", size=4))
    with refused(store, r"\(gigabytes: 10 of 10 in use, 1 more requested\)") as desk:
        RESOURCES.add(desk, thing("v-2", "volume", size=1))


def test_what_starts_later_or_ends_later_counts_and_what_has_ended_does_not(store: Engine) -> None:
    with desk_of(store) as desk:
        RESOURCES.add(desk, thing("past", "volume", size=9, started="2026-05-05", ended="2026-06-06"))
        RESOURCES.add(desk, thing("later", "volume", size=1, started="2028-01-01"))
        RESOURCES.add(desk, thing("ending", "volume", size=1, ended=format_utc(NOW + 1)))
    with refused(store, r"\(volumes: 2 of 2 in use, 1 more requested\)") as desk:
        RESOURCES.add(desk, thing("one more", "volume", size=1))
    with desk_of(store, now=NOW + 1) as desk:
        RESOURCES.add(desk, thing("one more", "volume", size=1))


def test_growing_is_held_to_the_quota_and_shrinking_is_not(store: Engine) -> None:
    with desk_of(store) as desk:
        RESOURCES.add(desk, thing("v", "volume", size=8))
        QUOTAS.change(desk, "t1", {"gigabytes": 4})
    with refused(store, r"\(gigabytes: 8 of 4 in use, 1 more requested\)") as desk:
        RESOURCES.change(desk, "v", {"size": 9})
    with desk_of(store) as desk:
        RESOURCES.change(desk, "v", {"name": "b"})
        RESOURCES.change(desk, "v", {"size": 7})


@pytest.mark.parametrize("kind", ["image", "loadbalance"])
def test_kinds_without_a_quota_are_not_limited(store: Engine, kind: str) -> None:
    with desk_of(store) as desk:
        for place in range(12):
            RESOURCES.add(desk, thing(f"x-{place}", kind, **({"size": 1000} if kind == "image" else {})))


def test_unlimited_is_unlimited(store: Engine) -> None:
    with desk_of(store) as desk:
        QUOTAS.change(desk, "t1", {"floating_ips": -1})
        RESOURCES.add(desk, thing("f", "floating_ip"))


def test_another_tenants_use_does_not_count(store: Engine) -> None:
    with desk_of(store) as desk:
        RESOURCES.add(desk, instance("i-1", vcpus=4, tenant="t2"))
        RESOURCES.add(desk, instance("i-2", vcpus=4))


def test_force_goes_over_a_quota(store: Engine) -> None:
    with pytest.raises(OverridableError), desk_of(store) as desk:
        RESOURCES.add(desk, instance("i-1", vcpus=9))
    with desk_of(store, force=True) as desk:
        RESOURCES.add(desk, instance("i-1", vcpus=9))
        RESOURCES.change(desk, "i-1", {"vcpus": 10})
    assert_all_counted(store)


def test_what_was_forced_is_noted_as_forced(store: Engine) -> None:
    with desk_of(store, force=True) as desk:
        RESOURCES.add(desk, instance("i-1", vcpus=9))
    with desk_of(store) as desk:
        RESOURCES.end(desk, "i-1")
        noted = find_changes(desk.connection, AuditQuery(subject="i-1"))
    assert [line["change"] for line in noted] == ["resource.end", "resource.add (forced)"]

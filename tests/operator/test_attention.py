"""What needs attention in the store: quotas, prices, failed logins and backups."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.attention import (
    DAY,
    MAX_FAILED_LOGINS,
    FailedLogins,
    StoreScanner,
    failed_logins,
    last_backup,
    upcoming_price_changes,
)
from cloudconsole.operator.entities import PRICES, QUOTAS, RESOURCES, TENANTS
from cloudconsole.operator.near_quotas import QuotaLevel, TenantNearQuota, tenants_near_quota
from cloudconsole.store.tables import access_audit
from tests.operator.transactions import NOW, transaction
from tests.stores import copy_store, opened


def near(engine: Engine, limit: int = 10, now: int = NOW) -> list[TenantNearQuota]:
    with transaction(engine, now=now) as tx:
        return tenants_near_quota(tx, limit)


def set_quotas(engine: Engine, tenant: str, **limits: int) -> None:
    with transaction(engine, force=True) as tx:
        QUOTAS.change(tx, tenant, limits)


def listed(engine: Engine) -> list[str]:
    with transaction(engine) as tx:
        return [record["tenant"] for record in QUOTAS.list(tx, {"near": True})]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (126, []),
        (125, [TenantNearQuota("demo", [QuotaLevel("gigabytes", 100, 125)])]),
        (100, [TenantNearQuota("demo", [QuotaLevel("gigabytes", 100, 100)])]),
        (99, [TenantNearQuota("demo", [QuotaLevel("gigabytes", 100, 99)])]),
        (0, [TenantNearQuota("demo", [QuotaLevel("gigabytes", 100, 0)])]),
        (-1, []),
    ],
)
def test_tenant_is_near_a_quota_from_four_fifths_on(small: Engine, limit: int, expected: list[TenantNearQuota]) -> None:
    assert near(small) == []
    set_quotas(small, "demo", gigabytes=limit)
    assert near(small) == expected
    assert listed(small) == [each.tenant for each in expected]


def test_unused_quota_of_zero_needs_no_attention(small: Engine) -> None:
    set_quotas(small, "other", snapshots=0)
    set_quotas(small, "demo", snapshots=0, floating_ips=0)
    assert near(small) == []


def test_tenants_are_ordered_by_their_most_used_quota_and_limited(small: Engine) -> None:
    for name in ("a", "b", "c"):
        with transaction(small) as tx:
            TENANTS.add(tx, {"name": name})
            for kind in ("keypair", "security_group"):
                values = {"id": f"{kind}-{name}", "tenant": name, "kind": kind, "name": "x", "started": format_utc(NOW)}
                RESOURCES.add(tx, values)
    set_quotas(small, "a", keypairs=1)
    set_quotas(small, "b", keypairs=1, security_groups=0)
    set_quotas(small, "demo", gigabytes=110)
    ordered = near(small)
    assert [each.tenant for each in ordered] == ["b", "a", "demo"]
    assert [level.quota for level in ordered[0].levels] == ["security_groups", "keypairs"]
    assert near(small, 2) == ordered[:2]
    assert listed(small) == ["a", "b", "demo"]


def test_disabled_tenants_are_left_out(small: Engine) -> None:
    set_quotas(small, "demo", gigabytes=100)
    with transaction(small) as tx:
        TENANTS.disable(tx, "demo")
    assert near(small) == []


def test_resources_that_will_end_count_until_then(small: Engine) -> None:
    with transaction(small) as tx:
        RESOURCES.end(tx, "v-1", format_utc(NOW + 60))
    set_quotas(small, "demo", gigabytes=100, volumes=1)
    (found,) = near(small)
    assert found == TenantNearQuota("demo", [QuotaLevel("volumes", 1, 1), QuotaLevel("gigabytes", 100, 100)])
    assert near(small, now=NOW + 60) == []
    assert listed(small) == ["demo"]


def test_scans_of_a_large_store_are_kept_for_a_minute(small: Engine) -> None:
    def names(scanner: StoreScanner, now: int) -> tuple[list[str], bool]:
        with transaction(small, now=now) as tx:
            scans = scanner.scan(tx)
        return [each.tenant for each in scans.near_quota], scans.is_kept

    large, ordinary = StoreScanner(0), StoreScanner(1)
    assert names(large, NOW) == names(ordinary, NOW) == ([], False)
    set_quotas(small, "demo", gigabytes=100)
    assert names(large, NOW + 59) == ([], True)
    assert names(ordinary, NOW + 59) == (["demo"], False)
    assert names(large, NOW + 60) == (["demo"], False)
    # The clock may be set back.
    assert names(large, NOW - 1) == (["demo"], False)


# Prices


def test_price_changes_of_the_next_month_come_with_the_price_they_replace(small: Engine) -> None:
    volume = {"kind": "volume", "unit": "gb", "node": "hk-1"}
    with transaction(small) as tx:
        PRICES.add(tx, {**volume, "price": "0.2", "from": format_utc(NOW + 30 * DAY)})
        PRICES.add(tx, {**volume, "price": "0.1", "from": format_utc(NOW + 60)})
        PRICES.add(tx, {**volume, "price": "0.3", "from": format_utc(NOW + 31 * DAY)})
        PRICES.add(tx, {**volume, "node": "hk-2", "price": "0.4", "from": format_utc(NOW + 30)})
        changes = upcoming_price_changes(tx)
    assert [(change.record["price"], change.before) for change in changes] == [
        ("0.40", None),
        ("0.10", "0.0004"),
        ("0.20", "0.10"),
    ]
    with transaction(small, now=NOW + 31 * DAY) as tx:
        assert upcoming_price_changes(tx) == []


# Logins and backups


@pytest.fixture
def activity(empty_store: Path, tmp_path: Path) -> Iterator[Engine]:
    with opened(copy_store(empty_store, tmp_path / "data"), "activity") as engine:
        yield engine


def add_accesses(engine: Engine, *rows: tuple[str, str | None, str], at: int = NOW) -> None:
    values = [
        {"at": at, "event": event, "username": username, "address": address, "request_id": "r"}
        for event, username, address in rows
    ]
    with engine.begin() as connection:
        connection.execute(insert(access_audit), values)


def failures(engine: Engine) -> FailedLogins | None:
    with engine.connect() as connection:
        return failed_logins(connection, "login_refused", NOW - DAY)


def test_failed_logins_are_counted_by_account_and_address(activity: Engine) -> None:
    assert failures(activity) is None
    add_accesses(activity, ("login_refused", "old", "10.0.0.1"), at=NOW - DAY - 1)
    assert failures(activity) is None
    add_accesses(activity, ("login_refused", None, "10.0.0.1"), at=NOW - DAY)
    add_accesses(activity, ("login_refused", "ann", "10.0.0.1"), ("login_refused", "ann", "10.0.0.2"))
    add_accesses(activity, ("login", "ann", "10.0.0.2"), ("operator_login_refused", "root", "10.0.0.3"))
    assert failures(activity) == FailedLogins("login_refused", 3, 1, 2, ("ann", 2))


def test_only_the_newest_failed_logins_are_read(activity: Engine) -> None:
    add_accesses(activity, *[("login_refused", None, "10.0.0.1")] * (MAX_FAILED_LOGINS + 1))
    found = failures(activity)
    assert found is not None
    assert (found.failures, found.accounts, found.most_frequent) == (
        MAX_FAILED_LOGINS,
        0,
        ("10.0.0.1", MAX_FAILED_LOGINS),
    )


def test_without_a_backup_there_is_no_time(engine: Engine) -> None:
    with transaction(engine) as tx:
        assert last_backup(tx) is None

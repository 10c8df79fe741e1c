"""Verbs of every entity type: add, change, disable, remove, list; their validation and audit entries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.entities import (
    ACCOUNTS,
    DOMAINS,
    ENTITY_TYPES,
    FLAVORS,
    NEWS,
    NODES,
    PRICES,
    QUOTAS,
    RESOURCES,
    TENANTS,
    URLS,
    ChangeResult,
    EntityType,
)
from cloudconsole.operator.errors import ValidationError
from cloudconsole.operator.first_operator import add_first_operator
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction, read_only_transaction
from cloudconsole.store import tables
from tests.operator.clouds import OTHER_HASH, SECRET_HASH, SMALL, by_name, contents, load_text, rows
from tests.operator.transactions import NOW, last_entry, rejected, transaction

DOMAIN: dict[str, Any] = {
    "tenant": "other",
    "id": "77",
    "name": "example.org",
    "serviceAreas": "hk",
    "serviceType": "web",
    "cname": "c.example.net",
    "status": "Up",
}
NEW: dict[str, dict[str, Any]] = {
    "tenant": {"name": "third"},
    "account": {"tenant": "other", "username": "eve", "password_hash": SECRET_HASH},
    "node": {"name": "sh-1"},
    "price": {"kind": "image", "unit": "gb", "price": "0.5", "from": "2026-01-01"},
    "resource": {"tenant": "other", "id": "v-9", "kind": "volume", "name": "new", "node": "hk-2", "size": 5},
    "flavor": {"id": "9", "name": "9C", "vcpus": 9, "ram": 9, "disk": 9},
    "url": {"id": "url-99999999", "type": "link", "url": "https://nine.example.com/"},
    "domain": DOMAIN,
    "news": {"id": 9, "date": "2026-09-09", "title": "Nine", "url": "https://nine.example.com/"},
}
CHANGES: dict[str, dict[str, Any]] = {
    "tenant": {"name": "renamed"},
    "account": {"role": "operator"},
    "node": {"name": "sh-2"},
    "price": {"price": "0.60"},
    "resource": {"size": 6},
    "flavor": {"ram": 10},
    "url": {"tenant": "demo"},
    "domain": {"originConfig": {"originIps": ["192.0.2.1"], "advOriginConfigs": None, "originDomainName": None}},
    "news": {"title": "Ten"},
}
ADDABLE = [entity for entity in ENTITY_TYPES if "add" in entity.verbs]
SWITCHABLE = [entity for entity in ENTITY_TYPES if "disable" in entity.verbs]


def entity_name(entity: object) -> str:
    return str(getattr(entity, "name"))  # noqa: B009


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    return engine_with(SMALL)


def add_new(engine: Engine, entity: EntityType) -> str:
    with transaction(engine) as tx:
        return entity.add(tx, NEW[entity.name]).subject


# All entity types


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_entity_can_be_added_once_and_is_shown_listed_and_recorded(store: Engine, entity: EntityType) -> None:
    with transaction(store) as tx:
        result = entity.add(tx, NEW[entity.name])
    with transaction(store) as tx:
        shown = entity.show(tx, result.subject)
        assert shown in entity.list(tx)
    assert (result.before, result.after) == (None, shown)
    entry = last_entry(store)
    assert (entry["at"], entry["actor"], entry["change"]) == (NOW, "tester", f"{entity.name}.add")
    assert (entry["subject"], entry["before"], entry["after"]) == (result.subject, None, shown)
    message = (
        "already exists" if entity is PRICES else f"^{entity.key}: {entity.label} {result.subject} already exists$"
    )
    with rejected(store, message) as tx:
        entity.add(tx, NEW[entity.name])


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_change_is_recorded_with_before_and_after_unless_nothing_changes(store: Engine, entity: EntityType) -> None:
    key = add_new(store, entity)
    with transaction(store) as tx:
        before = entity.show(tx, key)
        result = entity.change(tx, key, CHANGES[entity.name])
    assert result.changed
    assert (result.before, result.after) == (before, before | CHANGES[entity.name])
    entry = last_entry(store)
    assert (entry["change"], entry["subject"]) == (f"{entity.name}.change", key)
    assert (entry["before"], entry["after"]) == (result.before, result.after)
    stored = contents(store)
    with transaction(store) as tx:
        assert not entity.change(tx, entity.key_of(before | CHANGES[entity.name]), result.after or {}).changed
    assert contents(store) == stored


@pytest.mark.parametrize("entity", SWITCHABLE, ids=entity_name)
def test_disabled_entity_can_be_enabled_again(store: Engine, entity: EntityType) -> None:
    key = add_new(store, entity)
    with transaction(store) as tx:
        before = entity.show(tx, key)
        disabled = entity.disable(tx, key)
    assert last_entry(store)["change"] == f"{entity.name}.disable"
    assert disabled.after == before | ({"enabled": False} if entity is DOMAINS else {"disabled": True})
    with transaction(store) as tx:
        assert disabled.after in entity.list(tx, {"disabled": True})
        assert not entity.disable(tx, key).changed
        assert entity.enable(tx, key).after == before
        assert entity.list(tx, {"disabled": True}) == []


DERIVED = ("operator_audit", "totals", "usage")


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_removed_entity_is_gone_and_can_be_added_again(store: Engine, entity: EntityType) -> None:
    before = {name: content for name, content in contents(store).items() if name not in DERIVED}
    key = add_new(store, entity)
    with transaction(store) as tx:
        removed = entity.remove(tx, key).before
    entry = last_entry(store)
    assert (entry["change"], entry["before"], entry["after"]) == (f"{entity.name}.remove", removed, None)
    assert {name: content for name, content in contents(store).items() if name in before} == before
    assert removed is not None
    with transaction(store) as tx:
        secret = {"password_hash": SECRET_HASH} if entity is ACCOUNTS else {}
        assert entity.add(tx, removed | secret).after == removed


@pytest.mark.parametrize("entity", [entity for entity in ENTITY_TYPES if entity is not PRICES], ids=entity_name)
def test_unknown_key_is_reported_as_missing(store: Engine, entity: EntityType) -> None:
    verbs: list[Any] = [entity.show, lambda tx, key: entity.change(tx, key, {}), entity.remove]
    for verb in verbs:
        with rejected(store, f"^there is no {entity.label} nothing$") as tx:
            NODES.add(tx, {"name": "rolled back"})
            verb(tx, "nothing")


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_unknown_or_missing_field_is_rejected(store: Engine, entity: EntityType) -> None:
    with rejected(store, "colour: is unknown") as tx:
        entity.add(tx, NEW[entity.name] | {"colour": "red"})
    for name in [given.name for given in entity.inputs() if given.is_required]:
        with rejected(store, f"{name}: is missing") as tx:
            entity.add(tx, {field: value for field, value in NEW[entity.name].items() if field != name})


@pytest.mark.parametrize("entity", [entity for entity in ADDABLE if entity.fixed], ids=entity_name)
def test_key_cannot_be_changed(store: Engine, entity: EntityType) -> None:
    key = add_new(store, entity)
    with rejected(store, f"{entity.key}: cannot be changed") as tx:
        entity.change(tx, key, {entity.key: "8"})


@pytest.mark.parametrize("entity", ENTITY_TYPES, ids=entity_name)
def test_list_pages_have_no_gaps(store: Engine, entity: EntityType) -> None:
    if "add" in entity.verbs:
        add_new(store, entity)
    with transaction(store) as tx:
        whole = entity.list(tx)
        assert len(whole) > 1
        pages, after = [], None
        while page := entity.list(tx, after=after, limit=1):
            pages += page
            after = entity.key_of(page[-1])
    assert pages == whole


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_changed_store_survives_a_dump_and_load(store: Engine, tmp_path: Path, entity: EntityType) -> None:
    key = add_new(store, entity)
    if entity in SWITCHABLE:
        with transaction(store) as tx:
            entity.disable(tx, key)
    before = contents(store)
    assert not load_text(store, tmp_path, dump(store)).changed
    assert contents(store) == before


# Tenants


def test_new_tenant_has_the_default_quotas(store: Engine) -> None:
    add_new(store, TENANTS)
    with transaction(store) as tx:
        assert QUOTAS.show(tx, "third") == {"tenant": "third", **QUOTA_DEFAULTS}


@pytest.mark.parametrize("entity", [TENANTS, NODES, FLAVORS], ids=entity_name)
def test_name_of_another_entity_is_rejected(store: Engine, entity: EntityType) -> None:
    with transaction(store) as tx:
        first, second = entity.list(tx)
    with rejected(store, f"name: {entity.label} {first['name']} already exists") as tx:
        entity.change(tx, entity.key_of(second), {"name": first["name"]})


def test_removal_of_a_needed_tenant_names_what_needs_it(store: Engine) -> None:
    with rejected(store, "demo cannot be removed: 2 accounts, 4 resources, 1 domain and 1 URL need it") as tx:
        TENANTS.remove(tx, "demo")
    with transaction(store) as tx:
        URLS.change(tx, "url-00000001", {"tenant": "other"})
    with rejected(store, "other cannot be removed: 1 URL needs it") as tx:
        TENANTS.remove(tx, "other")


def test_disabling_a_tenant_ends_no_sessions_of_others(store: Engine) -> None:
    add_new(store, ACCOUNTS)
    before = by_name(store, tables.accounts, "username")["eve"]
    with transaction(store) as tx:
        TENANTS.disable(tx, "demo")
    assert by_name(store, tables.accounts, "username")["eve"] == before


# Accounts


ACCOUNT_CHANGES: dict[str, Callable[[OperatorTransaction], ChangeResult]] = {
    "role": lambda tx: ACCOUNTS.change(tx, "ann", {"role": "operator"}),
    "tenant": lambda tx: ACCOUNTS.change(tx, "ann", {"tenant": "other"}),
    "disabled": lambda tx: ACCOUNTS.disable(tx, "ann"),
    "sessions": lambda tx: ACCOUNTS.end_sessions(tx, "ann"),
    "password": lambda tx: ACCOUNTS.reset_password(tx, "ann", OTHER_HASH),
    "disabled tenant": lambda tx: TENANTS.disable(tx, "demo"),
}


@pytest.mark.parametrize("change", ACCOUNT_CHANGES)
def test_changed_account_loses_its_sessions(store: Engine, change: str) -> None:
    before = by_name(store, tables.accounts, "username")
    with transaction(store) as tx:
        ACCOUNT_CHANGES[change](tx)
    after = by_name(store, tables.accounts, "username")
    assert after["ann"]["version"] != before["ann"]["version"]
    assert after["ann"]["password_hash"] == (OTHER_HASH if change == "password" else SECRET_HASH)
    assert (after["bob"] == before["bob"]) == (change != "disabled tenant")


def test_password_reset_is_recorded_without_the_password(store: Engine) -> None:
    with transaction(store) as tx:
        ACCOUNTS.reset_password(tx, "ann", OTHER_HASH)
    entry = last_entry(store)
    assert (entry["change"], entry["before"], entry["after"]) == ("account.password", None, {"password": "changed"})


def test_no_hash_is_in_a_record_or_the_audit_log(store: Engine) -> None:
    key = add_new(store, ACCOUNTS)
    with transaction(store) as tx:
        ACCOUNTS.reset_password(tx, key, OTHER_HASH)
        ACCOUNTS.change(tx, key, {"tenant": "demo"})
        shown = str([ACCOUNTS.list(tx), ACCOUNTS.remove(tx, key)])
    assert "argon2" not in shown
    assert "argon2" not in str(rows(store, tables.operator_audit))


def test_an_account_needs_a_password(store: Engine) -> None:
    with rejected(store, "password_hash: is missing") as tx:
        ACCOUNTS.add(tx, {"tenant": "other", "username": "eve"})
    with rejected(store, "password_hash: cannot be changed here: reset") as tx:
        ACCOUNTS.change(tx, "ann", {"password_hash": OTHER_HASH})
    with rejected(store, "password_hash: must be an argon2id hash") as tx:
        ACCOUNTS.reset_password(tx, "ann", "plain")
    with rejected(store, "password_file: is not allowed here") as tx:
        ACCOUNTS.add(tx, NEW["account"] | {"password_file": "x"})


def test_last_active_operator_is_protected_unless_forced(store: Engine) -> None:
    with transaction(store) as tx:
        ACCOUNTS.add(tx, NEW["account"] | {"role": "operator"})
        ACCOUNTS.add(tx, NEW["account"] | {"username": "off", "role": "operator", "disabled": True})
        TENANTS.add(tx, {"name": "closed", "disabled": True})
    changes: tuple[Any, ...] = (
        lambda tx: ACCOUNTS.disable(tx, "eve"),
        lambda tx: ACCOUNTS.remove(tx, "eve"),
        lambda tx: ACCOUNTS.change(tx, "eve", {"role": "tenant"}),
        lambda tx: ACCOUNTS.change(tx, "eve", {"tenant": "closed"}),
        lambda tx: TENANTS.disable(tx, "other"),
    )
    for change in changes:
        with rejected(store, "the account eve is the last operator who can log in") as tx:
            change(tx)
    with transaction(store) as tx:
        ACCOUNTS.enable(tx, "off")
        ACCOUNTS.disable(tx, "eve")
    with transaction(store, force=True) as tx:
        ACCOUNTS.remove(tx, "off")


@pytest.mark.parametrize("tenant", ["other", "provider"])
def test_first_operator_is_added_only_without_other_accounts(store: Engine, tenant: str) -> None:
    with rejected(store, "the store already has accounts; nothing was changed") as tx:
        add_first_operator(tx, username="eve", tenant=tenant, password_hash=SECRET_HASH)
    with transaction(store) as tx:
        for username in ("ann", "bob"):
            ACCOUNTS.remove(tx, username)
        add_first_operator(tx, username="eve", tenant=tenant, password_hash=SECRET_HASH)
        assert ACCOUNTS.list(tx) == [{"tenant": tenant, "username": "eve", "role": "operator"}]


def test_accounts_are_listed_by_tenant_role_and_prefix(store: Engine) -> None:
    add_new(store, ACCOUNTS)
    with transaction(store) as tx:
        ACCOUNTS.change(tx, "bob", {"role": "operator"})
        listed = {
            str(filters): [record["username"] for record in ACCOUNTS.list(tx, filters)]
            for filters in ({"tenant": "demo"}, {"role": "operator"}, {"prefix": "e"}, {"prefix": "E"})
        }
    assert list(listed.values()) == [["ann", "bob"], ["bob"], ["eve"], []]
    with rejected(store, "tenant: there is no tenant nobody") as tx:
        ACCOUNTS.list(tx, {"tenant": "nobody"})


# Quotas


def test_quotas_can_be_changed_and_reset(store: Engine) -> None:
    with transaction(store) as tx:
        QUOTAS.change(tx, "demo", {"cores": 5, "ram": -1})
        changed = QUOTAS.show(tx, "demo")
        assert QUOTAS.reset(tx, "demo").after == {"tenant": "demo", **QUOTA_DEFAULTS}
    assert changed == {"tenant": "demo", **QUOTA_DEFAULTS, "instances": 20, "cores": 5, "ram": -1}
    assert last_entry(store)["change"] == "quota.reset"


def test_invalid_quota_and_another_tenant_are_rejected(store: Engine) -> None:
    with rejected(store, "wheels: is not a quota") as tx:
        QUOTAS.change(tx, "demo", {"wheels": 4})
    with rejected(store, "tenant: cannot be changed") as tx:
        QUOTAS.change(tx, "demo", {"tenant": "other"})


# Nodes


def test_removal_of_a_needed_node_names_what_needs_it(store: Engine) -> None:
    with rejected(store, "the node hk-1 cannot be removed: 1 price and 2 resources need it") as tx:
        NODES.remove(tx, "hk-1")


def test_removed_node_leaves_no_totals(store: Engine) -> None:
    key = add_new(store, NODES)
    with transaction(store) as tx:
        RESOURCES.add(tx, NEW["resource"] | {"node": key})
        RESOURCES.remove(tx, "v-9")
        NODES.remove(tx, key)
    assert {row["node_id"] for row in rows(store, tables.totals)} <= {
        0,
        *(row["id"] for row in rows(store, tables.nodes)),
    }


# URLs, news and domains


def test_url_is_shared_and_gets_an_id_by_default(store: Engine) -> None:
    with transaction(store) as tx:
        result = URLS.add(tx, {"type": "link", "url": "https://x.example.com/"})
        assert result.subject.startswith("url-")
        assert result.subject in {record["id"] for record in URLS.list(tx, {"shared": True})}
        assert URLS.change(tx, "url-00000001", {"tenant": None}).changed
        assert URLS.list(tx, {"tenant": "demo"}) == []


def test_news_get_the_next_id_and_current_time_by_default(store: Engine) -> None:
    with transaction(store) as tx:
        result = NEWS.add(tx, {"title": "Now", "url": "https://x.example.com/"})
        assert result.after is not None
        assert (result.after["id"], result.after["date"]) == (2, "2027-01-15T08:00:00Z")
        NEWS.add(tx, {"title": "Later", "url": "https://x.example.com/", "date": "2027-02-01"})
        assert [record["title"] for record in NEWS.list(tx, {"upcoming": True})] == ["Later"]


def test_numeric_ids_are_sorted_numerically(store: Engine) -> None:
    with transaction(store) as tx:
        for number in ("10", "3"):
            FLAVORS.add(tx, NEW["flavor"] | {"id": number, "name": number})
            DOMAINS.add(tx, DOMAIN | {"id": number})
        assert [record["id"] for record in FLAVORS.list(tx)] == ["1", "2", "3", "10"]
        assert [record["id"] for record in DOMAINS.list(tx, after="3")] == ["10", "206813"]


def test_times_without_an_offset_are_in_the_operators_zone(store: Engine) -> None:
    with operator_transaction(store, actor="a", now=NOW, zone=ZoneInfo("Asia/Shanghai")) as tx:
        result = NEWS.add(tx, NEW["news"] | {"date": "2026-09-09 08:00"})
    assert result.after is not None
    assert result.after["date"] == "2026-09-09T00:00:00Z"


def test_read_only_transaction_does_not_wait_for_writers(store: Engine) -> None:
    with transaction(store) as writer:
        NODES.add(writer, {"name": "sh-1"})
        with read_only_transaction(store, now=NOW) as tx:
            assert [record["name"] for record in NODES.list(tx)] == ["hk-1", "hk-2"]


def test_renamed_entity_is_found_in_the_audit_log_by_both_keys(store: Engine) -> None:
    with transaction(store) as tx:
        TENANTS.change(tx, "demo", {"name": "renamed"})
    with store.begin() as connection:
        found = {key: find_changes(connection, AuditQuery(subject=key))[0] for key in ("demo", "renamed")}
    assert {key: entry["change"] for key, entry in found.items()} == {
        "demo": "tenant.change",
        "renamed": "tenant.rename",
    }
    for entry in found.values():
        assert (entry["before"]["name"], entry["after"]["name"]) == ("demo", "renamed")


@pytest.mark.parametrize(
    ("entity", "values", "fields"),
    [
        (ACCOUNTS, {"role": "king", "password_hash": SECRET_HASH}, ["tenant", "username", "role"]),
        (DOMAINS, {"tenant": "nobody", "id": "x"}, ["tenant", "id", "name", "serviceAreas"]),
        (PRICES, {"kind": "volume", "unit": "vcpu", "node": "nowhere", "price": "0,01"}, ["price", "unit", "node"]),
        (RESOURCES, {"kind": "volume", "node": "nowhere", "size": "big"}, ["tenant", "id", "size", "node"]),
    ],
    ids=["account", "domain", "price", "resource"],
)
def test_all_validation_errors_are_reported_at_once(
    store: Engine, entity: EntityType, values: dict[str, Any], fields: list[str]
) -> None:
    with pytest.raises(ValidationError) as error, transaction(store) as tx:
        entity.add(tx, values)
    assert set(fields) <= {path[0] for path, _ in error.value.errors}


@pytest.mark.parametrize("entity", [URLS, NEWS], ids=entity_name)
def test_add_once_with_the_same_key_adds_once(store: Engine, entity: EntityType) -> None:
    values = {name: value for name, value in NEW[entity.name].items() if name not in ("id", "date")}
    with transaction(store) as tx:
        assert TENANTS.fresh_key(tx) is None
        key = entity.fresh_key(tx)
        assert key is not None
        first = entity.add_once(tx, key, values)
    with transaction(store, now=NOW + 60) as tx:
        again = entity.add_once(tx, key, values)
        other = entity.add_once(tx, key, values | {"url": "https://example.com/another"})
    assert (first.subject, first.changed) == (key, True)
    assert (again.subject, again.changed) == (key, False)
    assert (other.subject != key, other.changed) == (True, True)


def test_a_domain_is_found_by_its_id_or_name(store: Engine) -> None:
    with transaction(store) as tx:
        DOMAINS.add(tx, NEW["domain"] | {"id": "77", "name": "one.example"})
        for prefix in ("77", "one."):
            assert [record["id"] for record in DOMAINS.list(tx, {"prefix": prefix})] == ["77"]

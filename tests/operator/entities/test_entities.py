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
from tests.operator.clouds import OTHER_HASH, SECRET_HASH, by_name, contents, load_text, rows
from tests.operator.test_entity_models import DOMAIN
from tests.operator.transactions import NOW, last_change, last_entry, rejected, transaction

NEW: dict[str, dict[str, Any]] = {
    "tenant": {"name": "third"},
    "account": {"tenant": "other", "username": "eve", "password_hash": SECRET_HASH},
    "node": {"name": "sh-1"},
    "price": {"kind": "image", "unit": "gb", "price": "0.5", "from": "2026-01-01"},
    "resource": {"tenant": "other", "id": "v-9", "kind": "volume", "name": "new", "node": "hk-2", "size": 5},
    "flavor": {"id": "9", "name": "9C", "vcpus": 9, "ram": 9, "disk": 9},
    "url": {"id": "url-99999999", "type": "link", "url": "https://nine.example.com/"},
    "domain": DOMAIN | {"tenant": "other", "id": "77"},
    "news": {"id": 9, "date": "2026-09-09", "title": "Nine", "url": "https://nine.example.com/"},
}
CHANGES: dict[str, dict[str, Any]] = {
    "tenant": {"name": "renamed"},
    "account": {"disabled": True},
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


def add_new(engine: Engine, entity: EntityType) -> str:
    with transaction(engine) as tx:
        return entity.add(tx, NEW[entity.name]).subject


# All entity types


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_entity_can_be_added_once_and_is_shown_listed_and_recorded(small: Engine, entity: EntityType) -> None:
    with transaction(small) as tx:
        result = entity.add(tx, NEW[entity.name])
    with transaction(small) as tx:
        shown = entity.show(tx, result.subject)
        assert shown in entity.list(tx)
    assert (result.before, result.after) == (None, shown)
    assert (last_entry(small)["at"], last_entry(small)["actor"]) == (NOW, "tester")
    assert last_change(small) == (f"{entity.name}.add", result.subject, None, shown)
    start = "" if entity is PRICES else f"^{entity.key}: {entity.label} {result.subject} "
    with rejected(small, f"{start}already exists$") as tx:
        entity.add(tx, NEW[entity.name])


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_change_is_recorded_with_before_and_after_unless_nothing_changes(small: Engine, entity: EntityType) -> None:
    key = add_new(small, entity)
    with transaction(small) as tx:
        before = entity.show(tx, key)
        result = entity.change(tx, key, CHANGES[entity.name])
    assert (result.before, result.after) == (before, before | CHANGES[entity.name])
    assert last_change(small) == (f"{entity.name}.change", key, result.before, result.after)
    stored = contents(small)
    with transaction(small) as tx:
        assert not entity.change(tx, entity.key_of(before | CHANGES[entity.name]), result.after or {}).changed
    assert contents(small) == stored


@pytest.mark.parametrize("entity", SWITCHABLE, ids=entity_name)
def test_disabled_entity_can_be_enabled_again(small: Engine, entity: EntityType) -> None:
    key = add_new(small, entity)
    with transaction(small) as tx:
        before = entity.show(tx, key)
        disabled = entity.disable(tx, key)
    assert last_entry(small)["change"] == f"{entity.name}.disable"
    assert disabled.after == before | ({"enabled": False} if entity is DOMAINS else {"disabled": True})
    with transaction(small) as tx:
        assert disabled.after in entity.list(tx, {"disabled": True})
        assert not entity.disable(tx, key).changed
        assert entity.enable(tx, key).after == before
        assert entity.list(tx, {"disabled": True}) == []


DERIVED = ("operator_audit", "totals", "usage", "billing_entries", "price_entries", "billing_state")


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_removed_entity_is_gone_and_can_be_added_again(small: Engine, entity: EntityType) -> None:
    before = {name: content for name, content in contents(small).items() if name not in DERIVED}
    key = add_new(small, entity)
    with transaction(small) as tx:
        removed = entity.remove(tx, key).before
    assert last_change(small) == (f"{entity.name}.remove", key, removed, None)
    assert {name: content for name, content in contents(small).items() if name in before} == before
    assert removed is not None
    with transaction(small) as tx:
        secret = {"password_hash": SECRET_HASH} if entity is ACCOUNTS else {}
        assert entity.add(tx, removed | secret).after == removed


@pytest.mark.parametrize("entity", [entity for entity in ENTITY_TYPES if entity is not PRICES], ids=entity_name)
def test_unknown_key_is_reported_as_missing(small: Engine, entity: EntityType) -> None:
    verbs: list[Any] = [entity.show, lambda tx, key: entity.change(tx, key, {}), entity.remove]
    for verb in verbs:
        with rejected(small, f"^there is no {entity.label} nothing$") as tx:
            NODES.add(tx, {"name": "rolled back"})
            verb(tx, "nothing")


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_unknown_or_missing_field_is_rejected(small: Engine, entity: EntityType) -> None:
    with rejected(small, "colour: is unknown") as tx:
        entity.add(tx, NEW[entity.name] | {"colour": "red"})
    for name in [given.name for given in entity.inputs() if given.is_required]:
        with rejected(small, f"{name}: is missing") as tx:
            entity.add(tx, {field: value for field, value in NEW[entity.name].items() if field != name})


@pytest.mark.parametrize("entity", [entity for entity in ADDABLE if entity.fixed], ids=entity_name)
def test_key_cannot_be_changed(small: Engine, entity: EntityType) -> None:
    key = add_new(small, entity)
    with rejected(small, f"{entity.key}: cannot be changed") as tx:
        entity.change(tx, key, {entity.key: "8"})


@pytest.mark.parametrize("entity", ENTITY_TYPES, ids=entity_name)
def test_list_pages_have_no_gaps(small: Engine, entity: EntityType) -> None:
    if "add" in entity.verbs:
        add_new(small, entity)
    with transaction(small) as tx:
        whole = entity.list(tx)
        assert len(whole) > 1
        pages, after = [], None
        while page := entity.list(tx, after=after, limit=1):
            pages += page
            after = entity.key_of(page[-1])
    assert pages == whole


@pytest.mark.parametrize("entity", ADDABLE, ids=entity_name)
def test_changed_store_survives_a_dump_and_load(small: Engine, tmp_path: Path, entity: EntityType) -> None:
    key = add_new(small, entity)
    if entity in SWITCHABLE:
        with transaction(small) as tx:
            entity.disable(tx, key)
    before = contents(small)
    assert not load_text(small, tmp_path, dump(small)).changed
    assert contents(small) == before


# Tenants


@pytest.mark.parametrize("entity", [TENANTS, NODES, FLAVORS], ids=entity_name)
def test_name_of_another_entity_is_rejected(small: Engine, entity: EntityType) -> None:
    with transaction(small) as tx:
        first, second = entity.list(tx)
    with rejected(small, f"name: {entity.label} {first['name']} already exists") as tx:
        entity.change(tx, entity.key_of(second), {"name": first["name"]})


def test_removal_of_a_needed_entity_names_what_needs_it(small: Engine) -> None:
    with transaction(small) as tx:
        URLS.change(tx, "url-ab12cd34", {"tenant": "other"})
    for entity, key, what in (
        (TENANTS, "demo", "2 accounts, 4 resources, 1 domain and 1 URL need it"),
        (TENANTS, "other", "1 URL needs it"),
        (NODES, "hk-1", "1 price and 2 resources need it"),
    ):
        with rejected(small, f"^the {entity.name} {key} cannot be removed: {what}") as tx:
            entity.remove(tx, key)


# Accounts


ACCOUNT_CHANGES: dict[str, Callable[[OperatorTransaction], ChangeResult]] = {
    "tenant": lambda tx: ACCOUNTS.change(tx, "ann", {"tenant": "other"}),
    "disabled": lambda tx: ACCOUNTS.disable(tx, "ann"),
    "sessions": lambda tx: ACCOUNTS.end_sessions(tx, "ann"),
    "password": lambda tx: ACCOUNTS.reset_password(tx, "ann", OTHER_HASH),
    "disabled tenant": lambda tx: TENANTS.disable(tx, "demo"),
}


@pytest.mark.parametrize("change", ACCOUNT_CHANGES)
def test_only_a_changed_account_loses_its_sessions(small: Engine, change: str) -> None:
    add_new(small, ACCOUNTS)
    before = by_name(small, tables.accounts, "username")
    with transaction(small, force=True) as tx:
        ACCOUNT_CHANGES[change](tx)
    after = by_name(small, tables.accounts, "username")
    assert after["ann"]["version"] != before["ann"]["version"]
    assert after["ann"]["password_hash"] == (OTHER_HASH if change == "password" else SECRET_HASH)
    assert (after["bob"] == before["bob"]) == (change != "disabled tenant")
    assert after["eve"] == before["eve"]


def test_no_hash_is_in_a_record_or_the_audit_log(small: Engine) -> None:
    key = add_new(small, ACCOUNTS)
    with transaction(small) as tx:
        ACCOUNTS.reset_password(tx, key, OTHER_HASH)
    assert last_change(small) == ("account.password", key, None, {"password": "changed"})
    with transaction(small) as tx:
        ACCOUNTS.change(tx, key, {"disabled": True})
        shown = str([ACCOUNTS.list(tx), ACCOUNTS.remove(tx, key)])
    assert "argon2" not in shown + str(rows(small, tables.operator_audit))


def test_an_account_needs_a_password(small: Engine) -> None:
    with rejected(small, "password_hash: is missing") as tx:
        ACCOUNTS.add(tx, {"tenant": "other", "username": "eve"})
    with rejected(small, "password_hash: cannot be changed here: reset") as tx:
        ACCOUNTS.change(tx, "ann", {"password_hash": OTHER_HASH})
    with rejected(small, "password_hash: must be an argon2id hash") as tx:
        ACCOUNTS.reset_password(tx, "ann", "plain")
    with rejected(small, "password_file: is not allowed here") as tx:
        ACCOUNTS.add(tx, NEW["account"] | {"password_file": "x"})


def test_last_active_operator_is_protected_unless_forced(small: Engine) -> None:
    with transaction(small) as tx:
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
        with rejected(small, "the account eve is the last operator who can sign in") as tx:
            change(tx)
    with transaction(small) as tx:
        ACCOUNTS.enable(tx, "off")
        ACCOUNTS.disable(tx, "eve")
    with rejected(small, "the account off is the last operator", force=True, keeps_operator=True) as tx:
        ACCOUNTS.remove(tx, "off")
    with transaction(small, force=True) as tx:
        ACCOUNTS.remove(tx, "off")


def test_promotion_must_be_forced(small: Engine) -> None:
    with rejected(small, "^makes the account ann an operator, who can change everything, with a password") as tx:
        ACCOUNTS.change(tx, "ann", {"role": "operator"})
    with transaction(small, force=True) as tx:
        assert ACCOUNTS.change(tx, "ann", {"role": "operator"}).changed
    with rejected(small, "makes the account bob an operator.*; moves the account bob") as tx:
        ACCOUNTS.change(tx, "bob", {"role": "operator", "tenant": "other"})


def test_demoted_operator_loses_its_sessions_and_stays_a_tenant(small: Engine) -> None:
    with transaction(small) as tx:
        for username in ("eve", "max"):
            ACCOUNTS.add(tx, NEW["account"] | {"username": username, "role": "operator"})
    before = by_name(small, tables.accounts, "username")["eve"]
    with transaction(small) as tx:
        ACCOUNTS.change(tx, "eve", {"role": "tenant"})
    assert by_name(small, tables.accounts, "username")["eve"]["version"] != before["version"]


def test_move_to_another_tenant_must_be_forced(small: Engine) -> None:
    with rejected(small, "^moves the account ann from the tenant demo to the tenant other: it will see") as tx:
        ACCOUNTS.change(tx, "ann", {"tenant": "other"})
    with transaction(small, force=True) as tx:
        assert ACCOUNTS.change(tx, "ann", {"tenant": "other"}).changed


@pytest.mark.parametrize("tenant", ["other", "provider"])
def test_first_operator_is_added_only_without_other_accounts(small: Engine, tenant: str) -> None:
    with rejected(small, "the store already has accounts; nothing was changed") as tx:
        add_first_operator(tx, username="eve", tenant=tenant, password_hash=SECRET_HASH)
    with transaction(small) as tx:
        for username in ("ann", "bob"):
            ACCOUNTS.remove(tx, username)
        add_first_operator(tx, username="eve", tenant=tenant, password_hash=SECRET_HASH)
        assert ACCOUNTS.list(tx) == [{"tenant": tenant, "username": "eve", "role": "operator"}]


def test_accounts_are_listed_by_tenant_role_and_prefix(small: Engine) -> None:
    add_new(small, ACCOUNTS)
    with transaction(small) as tx:
        ACCOUNTS.add(tx, NEW["account"] | {"username": "max", "role": "operator"})
        filters = ({"tenant": "demo"}, {"role": "operator"}, {"prefix": "e"}, {"prefix": "E"})
        listed = [[record["username"] for record in ACCOUNTS.list(tx, each)] for each in filters]
    assert listed == [["ann", "bob"], ["max"], ["eve"], []]
    with rejected(small, "tenant: there is no tenant nobody") as tx:
        ACCOUNTS.list(tx, {"tenant": "nobody"})


# Quotas


def test_quotas_can_be_changed_and_reset(small: Engine) -> None:
    with transaction(small) as tx:
        QUOTAS.change(tx, "demo", {"cores": 5, "ram": -1})
        changed = QUOTAS.show(tx, "demo")
        assert QUOTAS.reset(tx, "demo").after == {"tenant": "demo", **QUOTA_DEFAULTS}
    assert changed == {"tenant": "demo", **QUOTA_DEFAULTS, "instances": 20, "cores": 5, "ram": -1}
    assert last_entry(small)["change"] == "quota.reset"


def test_quota_below_present_use_must_be_forced(small: Engine) -> None:
    with transaction(small) as tx:
        QUOTAS.change(tx, "demo", {"gigabytes": 140, "volumes": 1, "cores": 2})
    message = (
        r"^below present use \(cores: 2 in use, new limit 1; gigabytes: 100 in use, new limit 99\): "
        "nothing is removed, but nothing can be added$"
    )
    with rejected(small, message) as tx:
        QUOTAS.change(tx, "demo", {"gigabytes": 99, "cores": 1, "floating_ips": 0})
    with transaction(small, force=True) as tx:
        QUOTAS.change(tx, "demo", {"gigabytes": 9, "cores": 1})
    with transaction(small) as tx:
        # Still below, but not lowered.
        QUOTAS.change(tx, "demo", {"gigabytes": 19, "ram": 60_000})
        QUOTAS.reset(tx, "demo")


def test_reset_of_quotas_below_present_use_must_be_forced(small: Engine) -> None:
    with transaction(small) as tx:
        QUOTAS.change(tx, "other", {"gigabytes": -1})
        RESOURCES.add(tx, NEW["resource"] | {"size": 1001})
    with rejected(small, "gigabytes: 1001 in use, new limit 1000") as tx:
        QUOTAS.reset(tx, "other")
    with transaction(small, force=True) as tx:
        QUOTAS.reset(tx, "other")


def test_invalid_quota_and_another_tenant_are_rejected(small: Engine) -> None:
    with rejected(small, "wheels: is not a quota") as tx:
        QUOTAS.change(tx, "demo", {"wheels": 4})
    with rejected(small, "tenant: cannot be changed") as tx:
        QUOTAS.change(tx, "demo", {"tenant": "other"})


# Nodes


def test_removed_node_leaves_no_totals(small: Engine) -> None:
    key = add_new(small, NODES)
    with transaction(small) as tx:
        RESOURCES.add(tx, NEW["resource"] | {"node": key})
        RESOURCES.remove(tx, "v-9")
        NODES.remove(tx, key)
    left = {row["id"] for row in rows(small, tables.nodes)}
    assert {row["node_id"] for row in rows(small, tables.totals)} <= {0, *left}


# URLs, news and domains


def test_url_is_shared_and_gets_an_id_by_default(small: Engine) -> None:
    with transaction(small) as tx:
        result = URLS.add(tx, {"type": "link", "url": "https://x.example.com/"})
        assert result.subject.startswith("url-")
        assert result.subject in {record["id"] for record in URLS.list(tx, {"shared": True})}
        assert URLS.change(tx, "url-00000001", {"tenant": None}).changed
        assert URLS.list(tx, {"tenant": "demo"}) == []


def test_news_get_the_next_id_and_current_time_by_default(small: Engine) -> None:
    with transaction(small) as tx:
        result = NEWS.add(tx, {"title": "Now", "url": "https://x.example.com/"})
        generated = {"id": 2, "date": "2027-01-15T08:00:00Z"}
        assert result.after == {"title": "Now", "url": "https://x.example.com/"} | generated
        NEWS.add(tx, {"title": "Later", "url": "https://x.example.com/", "date": "2027-02-01"})
        assert [record["title"] for record in NEWS.list(tx, {"upcoming": True})] == ["Later"]


def test_news_can_have_a_language_and_be_pinned(small: Engine) -> None:
    with transaction(small) as tx:
        added = NEWS.add(tx, NEW["news"] | {"language": "zh", "pinned": True})
        assert added.after == {**NEWS.show(tx, "9"), "language": "zh", "pinned": True}
        assert [record["id"] for record in NEWS.list(tx, {"pinned": True})] == [9]
        changed = NEWS.change(tx, "9", {"language": None, "pinned": False})
        assert changed.after is not None
        assert added.after.items() - changed.after.items() == {("language", "zh"), ("pinned", True)}
        assert NEWS.list(tx, {"pinned": True}) == []
    for name, value in (("language", "fr"), ("language", ""), ("pinned", 1)):
        with pytest.raises(ValidationError) as error, transaction(small) as tx:
            NEWS.change(tx, "9", {name: value})
        assert [path for path, _ in error.value.errors] == [(name,)]


@pytest.mark.parametrize(
    ("other", "is_found"),
    [
        ({"language": "zh"}, True),
        ({"language": "en"}, False),
        ({}, False),
        ({"language": "zh", "date": "2026-09-10"}, False),
        ({"language": "zh", "url": "https://ten.example.com/"}, False),
    ],
)
def test_news_are_the_same_by_date_and_url_in_the_other_language(
    small: Engine, other: dict[str, Any], *, is_found: bool
) -> None:
    with transaction(small) as tx:
        first = NEWS.add(tx, NEW["news"] | {"language": "en"}).after
        NEWS.add(tx, NEW["news"] | {"id": 10} | other)
        assert first is not None
        assert NEWS.in_other_language(tx, first) == ("10" if is_found else None)


def test_duplicate_flavor_name_is_rejected_with_all_other_errors(small: Engine) -> None:
    with transaction(small) as tx:
        FLAVORS.add(tx, NEW["flavor"])
        FLAVORS.change(tx, "9", {"name": "9C", "ram": 10})
    duplicate = NEW["flavor"] | {"id": "x", "vcpus": 0}
    with rejected(small, "id: must be 1 to 64 digits; vcpus: must be at least 1; name: flavor 9C already exists") as tx:
        FLAVORS.add(tx, duplicate)
    with transaction(small) as tx:
        FLAVORS.add(tx, NEW["flavor"] | {"id": "10", "name": "10C"})
    with rejected(small, "^name: flavor 9C already exists$") as tx:
        FLAVORS.change(tx, "10", {"name": "9C"})
    with rejected(small, "^id: flavor 10 already exists; name: flavor 9C already exists$|^name: .*id: ") as tx:
        FLAVORS.add(tx, NEW["flavor"] | {"id": "10"})


def test_numeric_ids_are_sorted_numerically(small: Engine) -> None:
    with transaction(small) as tx:
        for number in ("10", "3"):
            FLAVORS.add(tx, NEW["flavor"] | {"id": number, "name": number})
            DOMAINS.add(tx, NEW["domain"] | {"id": number})
        assert [record["id"] for record in FLAVORS.list(tx)] == ["1", "2", "3", "10"]
        assert [record["id"] for record in DOMAINS.list(tx, after="3")] == ["10", "206813"]


def test_times_without_an_offset_are_in_the_operators_zone(small: Engine) -> None:
    with operator_transaction(small, actor="a", now=NOW, zone=ZoneInfo("Asia/Shanghai")) as tx:
        NEWS.add(tx, NEW["news"] | {"date": "2026-09-09 08:00"})
        assert NEWS.show(tx, "9")["date"] == "2026-09-09T00:00:00Z"


def test_read_only_transaction_does_not_wait_for_writers(small: Engine) -> None:
    with transaction(small) as writer:
        NODES.add(writer, {"name": "sh-1"})
        with read_only_transaction(small, now=NOW) as tx:
            assert [record["name"] for record in NODES.list(tx)] == ["hk-1", "hk-2"]


def test_renamed_entity_is_found_in_the_audit_log_by_both_keys(small: Engine) -> None:
    with transaction(small) as tx:
        TENANTS.change(tx, "demo", {"name": "renamed"})
        found = [find_changes(tx.connection, AuditQuery(subject=key))[0] for key in ("demo", "renamed")]
    assert [entry["change"] for entry in found] == ["tenant.change", "tenant.rename"]
    assert [(entry["before"]["name"], entry["after"]["name"]) for entry in found] == [("demo", "renamed")] * 2


@pytest.mark.parametrize(
    ("entity", "values", "fields"),
    [
        (ACCOUNTS, {"role": "king", "password_hash": SECRET_HASH}, ["tenant", "username", "role"]),
        (DOMAINS, {"tenant": "nobody", "id": "x"}, ["tenant", "id", "name", "serviceAreas"]),
        (PRICES, {"kind": "volume", "unit": "vcpu", "node": "nowhere", "price": "0,01"}, ["price", "unit", "node"]),
        (RESOURCES, {"kind": "volume", "node": "nowhere", "size": "big"}, ["tenant", "id", "size", "node"]),
    ],
)
def test_all_errors_are_reported(small: Engine, entity: EntityType, values: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(ValidationError) as error, transaction(small) as tx:
        entity.add(tx, values)
    assert set(fields) <= {path[0] for path, _ in error.value.errors}


@pytest.mark.parametrize("entity", [URLS, NEWS], ids=entity_name)
def test_add_once_with_the_same_key_adds_once(small: Engine, entity: EntityType) -> None:
    values = {name: value for name, value in NEW[entity.name].items() if name not in ("id", "date")}
    with transaction(small) as tx:
        assert TENANTS.fresh_key(tx) is None
        key = entity.fresh_key(tx)
        assert key is not None
        results = [entity.add_once(tx, key, values)]
    with transaction(small, now=NOW + 60) as tx:
        results += [entity.add_once(tx, key, values | more) for more in ({}, {"url": "https://example.com/another"})]
    assert [(each.subject == key, each.changed) for each in results] == [(True, True), (True, False), (False, True)]


def test_a_domain_is_found_by_its_id_or_name(small: Engine) -> None:
    with transaction(small) as tx:
        DOMAINS.add(tx, NEW["domain"] | {"id": "77", "name": "one.example"})
        for prefix in ("77", "one."):
            assert [record["id"] for record in DOMAINS.list(tx, {"prefix": prefix})] == ["77"]

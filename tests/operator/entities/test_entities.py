"""What operators keep, thing by thing: added, changed, disabled, removed, listed; refused in plain words; noted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, text

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
    EntityType,
)
from cloudconsole.operator.errors import OperatorError, ValidationError
from cloudconsole.operator.transaction import operator_transaction, read_only_transaction
from cloudconsole.store import tables
from tests.operator.clouds import OTHER_HASH, SECRET_HASH, SMALL, by_name, contents, load_text, rows
from tests.operator.transactions import NOW, desk_of, last_line, refused

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
ADDABLE = [noun for noun in ENTITY_TYPES if "add" in noun.verbs]
SWITCHABLE = [noun for noun in ENTITY_TYPES if "disable" in noun.verbs]


def test_only_these_nouns_lack_a_verb_of_the_others() -> None:
    lacks = {noun.name: {"add", "disable", "remove"}.difference(noun.verbs) for noun in ENTITY_TYPES}
    assert {name: verbs for name, verbs in lacks.items() if verbs} == {
        "quota": {"add", "disable", "remove"},
        "price": {"disable"},
        "resource": {"disable"},
    }


def named(noun: object) -> str:
    return str(getattr(noun, "name"))  # noqa: B009


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    return engine_with(SMALL)


def new_one(engine: Engine, noun: EntityType) -> str:
    with desk_of(engine) as desk:
        return noun.add(desk, NEW[noun.name]).subject


# What every noun does


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_what_is_added_is_shown_and_listed_and_noted(store: Engine, noun: EntityType) -> None:
    with desk_of(store) as desk:
        done = noun.add(desk, NEW[noun.name])
    with desk_of(store) as desk:
        shown = noun.show(desk, done.subject)
        assert shown in noun.list(desk)
    assert (done.before, done.after) == (None, shown)
    line = last_line(store)
    assert (line["at"], line["actor"], line["change"]) == (NOW, "tester", f"{noun.name}.add")
    assert (line["subject"], line["before"], line["after"]) == (done.subject, None, shown)


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_a_second_one_of_the_same_name_is_refused(store: Engine, noun: EntityType) -> None:
    new_one(store, noun)
    with refused(store, "already exists") as desk:
        noun.add(desk, NEW[noun.name])


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_a_record_is_what_adding_takes(store: Engine, noun: EntityType) -> None:
    key = new_one(store, noun)
    with desk_of(store) as desk:
        removed = noun.remove(desk, key).before
        assert removed is not None
        secret = {"password_hash": SECRET_HASH} if noun is ACCOUNTS else {}
        assert noun.add(desk, removed | secret).after == removed


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_a_change_is_noted_with_before_and_after(store: Engine, noun: EntityType) -> None:
    key = new_one(store, noun)
    with desk_of(store) as desk:
        before = noun.show(desk, key)
        done = noun.change(desk, key, CHANGES[noun.name])
    assert done.changed
    assert (done.before, done.after) == (before, before | CHANGES[noun.name])
    line = last_line(store)
    assert (line["change"], line["subject"]) == (f"{noun.name}.change", key)
    assert (line["before"], line["after"]) == (done.before, done.after)


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_a_change_to_what_it_is_already_changes_nothing(store: Engine, noun: EntityType) -> None:
    key = new_one(store, noun)
    before = contents(store)
    with desk_of(store) as desk:
        assert not noun.change(desk, key, noun.show(desk, key)).changed
    assert contents(store) == before


@pytest.mark.parametrize("noun", SWITCHABLE, ids=named)
def test_what_is_disabled_can_be_enabled_again(store: Engine, noun: EntityType) -> None:
    key = new_one(store, noun)
    with desk_of(store) as desk:
        before = noun.show(desk, key)
        disabled = noun.disable(desk, key)
    assert last_line(store)["change"] == f"{noun.name}.disable"
    assert disabled.after == before | ({"enabled": False} if noun is DOMAINS else {"disabled": True})
    with desk_of(store) as desk:
        assert disabled.after in noun.list(desk, {"disabled": True})
        assert not noun.disable(desk, key).changed
        assert noun.enable(desk, key).after == before
        assert noun.list(desk, {"disabled": True}) == []


DERIVED = ("operator_audit", "totals", "usage")


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_what_is_removed_is_gone_and_noted(store: Engine, noun: EntityType) -> None:
    before = {name: kept for name, kept in contents(store).items() if name not in DERIVED}
    key = new_one(store, noun)
    with desk_of(store) as desk:
        done = noun.remove(desk, key)
    line = last_line(store)
    assert (line["change"], line["before"], line["after"]) == (f"{noun.name}.remove", done.before, None)
    assert {name: kept for name, kept in contents(store).items() if name in before} == before


@pytest.mark.parametrize("noun", [noun for noun in ENTITY_TYPES if noun is not PRICES], ids=named)
def test_what_is_not_there_is_said_to_be_missing(store: Engine, noun: EntityType) -> None:
    with refused(store, f"there is no {noun.label} nothing"[:40]) as desk:
        noun.show(desk, "nothing")
    with refused(store, f"there is no {noun.label} nothing"[:40]) as desk:
        noun.change(desk, "nothing", {})


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_an_unknown_field_is_refused(store: Engine, noun: EntityType) -> None:
    with refused(store, "colour: is unknown") as desk:
        noun.add(desk, NEW[noun.name] | {"colour": "red"})


@pytest.mark.parametrize("noun", ADDABLE, ids=named)
def test_a_required_field_that_is_missing_is_named(store: Engine, noun: EntityType) -> None:
    required = [given.name for given in noun.inputs() if given.is_required]
    for name in required:
        with refused(store, f"{name}: is missing") as desk:
            noun.add(desk, {field: value for field, value in NEW[noun.name].items() if field != name})


@pytest.mark.parametrize("noun", [noun for noun in ADDABLE if noun.fixed], ids=named)
def test_a_key_stays(store: Engine, noun: EntityType) -> None:
    key = new_one(store, noun)
    with refused(store, f"{noun.key}: cannot be changed") as desk:
        noun.change(desk, key, {noun.key: "8"})


@pytest.mark.parametrize("noun", ENTITY_TYPES, ids=named)
def test_a_list_comes_in_pages_without_gaps(store: Engine, noun: EntityType) -> None:
    if "add" in noun.verbs:
        new_one(store, noun)
    with desk_of(store) as desk:
        whole = noun.list(desk)
        assert len(whole) > 1
        pages, after = [], None
        while page := noun.list(desk, after=after, limit=1):
            pages += page
            after = noun.key_of(page[-1])
    assert pages == whole


@pytest.mark.parametrize("noun", ENTITY_TYPES, ids=named)
def test_a_store_that_operators_changed_is_dumped_and_loaded_as_it_is(
    store: Engine, tmp_path: Path, noun: EntityType
) -> None:
    if "add" in noun.verbs:
        key = new_one(store, noun)
        with desk_of(store) as desk:
            if "disable" in noun.verbs:
                noun.disable(desk, key)
    before = contents(store)
    assert not load_text(store, tmp_path, dump(store)).changed
    assert contents(store) == before


# Tenants


def test_a_tenant_has_the_default_quotas(store: Engine) -> None:
    new_one(store, TENANTS)
    with desk_of(store) as desk:
        assert QUOTAS.show(desk, "third") == {"tenant": "third", **QUOTA_DEFAULTS}


def test_a_tenant_keeps_what_it_has_when_it_is_renamed(store: Engine) -> None:
    with desk_of(store) as desk:
        TENANTS.change(desk, "demo", {"name": "renamed"})
        assert ACCOUNTS.show(desk, "ann")["tenant"] == "renamed"


@pytest.mark.parametrize("noun", [TENANTS, NODES, FLAVORS], ids=named)
def test_a_name_that_another_one_has_is_refused(store: Engine, noun: EntityType) -> None:
    with desk_of(store) as desk:
        first, second = noun.list(desk)
    with refused(store, f"name: {noun.label} {first['name']} already exists") as desk:
        noun.change(desk, noun.key_of(second), {"name": first["name"]})


def test_a_tenant_that_is_needed_stays_and_says_what_needs_it(store: Engine) -> None:
    with refused(store, "demo cannot be removed: 2 accounts, 4 resources, 1 domain and 1 URL need it") as desk:
        TENANTS.remove(desk, "demo")
    with desk_of(store) as desk:
        URLS.change(desk, "url-00000001", {"tenant": "other"})
    with refused(store, "other cannot be removed: 1 URL needs it") as desk:
        TENANTS.remove(desk, "other")


def test_disabling_a_tenant_ends_the_sessions_of_all_its_accounts_only(store: Engine) -> None:
    new_one(store, ACCOUNTS)
    before = by_name(store, tables.accounts, "username")
    with desk_of(store) as desk:
        TENANTS.disable(desk, "demo")
    after = by_name(store, tables.accounts, "username")
    changed = {name for name in before if before[name]["version"] != after[name]["version"]}
    assert changed == {"ann", "bob"}


# Accounts


@pytest.mark.parametrize("values", [{"role": "operator"}, {"tenant": "other"}])
def test_a_changed_account_loses_its_sessions(store: Engine, values: dict[str, Any]) -> None:
    before = by_name(store, tables.accounts, "username")
    with desk_of(store) as desk:
        ACCOUNTS.change(desk, "ann", values)
    after = by_name(store, tables.accounts, "username")
    assert after["ann"]["version"] != before["ann"]["version"]
    assert after["ann"]["password_hash"] == SECRET_HASH
    assert after["bob"] == before["bob"]


def test_disabling_and_ending_sessions_renew_the_version(store: Engine) -> None:
    versions = [by_name(store, tables.accounts, "username")["ann"]["version"]]
    for change in (ACCOUNTS.disable, ACCOUNTS.enable, ACCOUNTS.end_sessions):
        with desk_of(store) as desk:
            change(desk, "ann")
        versions.append(by_name(store, tables.accounts, "username")["ann"]["version"])
    assert len(set(versions)) == 4


def test_a_reset_password_is_noted_without_it(store: Engine) -> None:
    before = by_name(store, tables.accounts, "username")["ann"]
    with desk_of(store) as desk:
        ACCOUNTS.reset_password(desk, "ann", OTHER_HASH)
    after = by_name(store, tables.accounts, "username")["ann"]
    assert (before["password_hash"], after["password_hash"]) == (SECRET_HASH, OTHER_HASH)
    assert before["version"] != after["version"]
    line = last_line(store)
    assert (line["change"], line["before"], line["after"]) == ("account.password", None, {"password": "changed"})


def test_no_hash_is_ever_in_a_record_or_in_the_audit(store: Engine) -> None:
    key = new_one(store, ACCOUNTS)
    with desk_of(store) as desk:
        ACCOUNTS.reset_password(desk, key, OTHER_HASH)
        ACCOUNTS.change(desk, key, {"tenant": "demo"})
        shown = str([ACCOUNTS.list(desk), ACCOUNTS.remove(desk, key)])
    assert "argon2" not in shown
    assert "argon2" not in str(rows(store, tables.operator_audit))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"password_hash": "plain"}, "password_hash: must be an argon2id hash"),
        ({"password": "plain"}, "password: is not allowed"),
        ({"password_file": "x"}, "password_file: is not allowed here"),
        ({"role": "king"}, "role: must be 'tenant' or 'operator'"),
        ({"username": "a\tb"}, "username: must not contain control characters"),
        ({"username": "\ud800"}, "username: contains half of a surrogate pair"),
    ],
)
def test_an_account_that_cannot_be_added(store: Engine, values: dict[str, Any], words: str) -> None:
    with refused(store, words) as desk:
        ACCOUNTS.add(desk, NEW["account"] | values)


def test_an_account_needs_a_password(store: Engine) -> None:
    with refused(store, "password_hash: is missing") as desk:
        ACCOUNTS.add(desk, {"tenant": "other", "username": "eve"})
    with refused(store, "password_hash: cannot be changed here: reset") as desk:
        ACCOUNTS.change(desk, "ann", {"password_hash": OTHER_HASH})
    with refused(store, "password_hash: must be an argon2id hash") as desk:
        ACCOUNTS.reset_password(desk, "ann", "plain")


def test_the_last_operator_who_can_log_in_stays_unless_forced(store: Engine) -> None:
    with desk_of(store) as desk:
        ACCOUNTS.add(desk, NEW["account"] | {"role": "operator"})
        ACCOUNTS.add(desk, NEW["account"] | {"username": "off", "role": "operator", "disabled": True})
    changes: tuple[Any, ...] = (
        lambda desk: ACCOUNTS.disable(desk, "eve"),
        lambda desk: ACCOUNTS.remove(desk, "eve"),
        lambda desk: ACCOUNTS.change(desk, "eve", {"role": "tenant"}),
        lambda desk: TENANTS.disable(desk, "other"),
    )
    for change in changes:
        with refused(store, "the account eve is the last operator who can log in") as desk:
            change(desk)
    with desk_of(store) as desk:
        ACCOUNTS.enable(desk, "off")
        ACCOUNTS.disable(desk, "eve")
    with desk_of(store, force=True) as desk:
        ACCOUNTS.remove(desk, "off")


def test_the_last_operator_cannot_move_to_a_disabled_tenant(store: Engine) -> None:
    with desk_of(store) as desk:
        ACCOUNTS.change(desk, "ann", {"role": "operator"})
        TENANTS.disable(desk, "other")
    with refused(store, "ann is the last operator") as desk:
        ACCOUNTS.change(desk, "ann", {"tenant": "other"})


def test_accounts_are_listed_by_tenant_role_and_prefix(store: Engine) -> None:
    new_one(store, ACCOUNTS)
    with desk_of(store) as desk:
        ACCOUNTS.change(desk, "bob", {"role": "operator"})
        listed = {
            str(filters): [record["username"] for record in ACCOUNTS.list(desk, filters)]
            for filters in ({"tenant": "demo"}, {"role": "operator"}, {"prefix": "e"}, {"prefix": "E"})
        }
    assert list(listed.values()) == [["ann", "bob"], ["bob"], ["eve"], []]
    with refused(store, "tenant: there is no tenant nobody") as desk:
        ACCOUNTS.list(desk, {"tenant": "nobody"})


# Quotas


def test_some_quotas_are_changed_and_all_reset(store: Engine) -> None:
    with desk_of(store) as desk:
        QUOTAS.change(desk, "demo", {"cores": 5, "ram": -1})
        changed = QUOTAS.show(desk, "demo")
        assert QUOTAS.reset(desk, "demo").after == {"tenant": "demo", **QUOTA_DEFAULTS}
    assert changed == {"tenant": "demo", **QUOTA_DEFAULTS, "instances": 20, "cores": 5, "ram": -1}
    assert last_line(store)["change"] == "quota.reset"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"cores": -2}, "cores: must be at least -1"),
        ({"cores": 2**31}, "cores: must be at most"),
        ({"cores": "5"}, "cores: must be a whole number"),
        ({"cores": None}, "cores: has no value"),
        ({"wheels": 4}, "wheels: is not a quota; the quotas are instances"),
        ({"tenant": "other"}, "tenant: cannot be changed"),
    ],
)
def test_a_quota_that_cannot_be(store: Engine, values: dict[str, Any], words: str) -> None:
    with refused(store, words) as desk:
        QUOTAS.change(desk, "demo", values)


# Nodes


def test_a_node_that_is_needed_stays_and_says_what_needs_it(store: Engine) -> None:
    with refused(store, "the node hk-1 cannot be removed: 1 price and 2 resources need it") as desk:
        NODES.remove(desk, "hk-1")


def test_a_node_without_resources_leaves_no_totals(store: Engine) -> None:
    key = new_one(store, NODES)
    with desk_of(store) as desk:
        RESOURCES.add(desk, NEW["resource"] | {"node": key})
        RESOURCES.remove(desk, "v-9")
        NODES.remove(desk, key)
    assert {row["node_id"] for row in rows(store, tables.totals)} <= {
        0,
        *(row["id"] for row in rows(store, tables.nodes)),
    }


# URLs, news and domains


def test_a_url_gets_an_id_and_is_published_to_all_where_nothing_is_said(store: Engine) -> None:
    with desk_of(store) as desk:
        done = URLS.add(desk, {"type": "link", "url": "https://x.example.com/"})
        assert done.subject.startswith("url-")
        assert done.subject in {record["id"] for record in URLS.list(desk, {"shared": True})}
        assert URLS.change(desk, "url-00000001", {"tenant": None}).changed
        assert URLS.list(desk, {"tenant": "demo"}) == []


def test_news_get_the_next_number_and_appear_now(store: Engine) -> None:
    with desk_of(store) as desk:
        done = NEWS.add(desk, {"title": "Now", "url": "https://x.example.com/"})
        assert done.after is not None
        assert (done.after["id"], done.after["date"]) == (2, "2027-01-15T08:00:00Z")
        NEWS.add(desk, {"title": "Later", "url": "https://x.example.com/", "date": "2027-02-01"})
        assert [record["title"] for record in NEWS.list(desk, {"upcoming": True})] == ["Later"]


def test_ids_of_digits_are_listed_by_number(store: Engine) -> None:
    with desk_of(store) as desk:
        for number in ("10", "3"):
            FLAVORS.add(desk, NEW["flavor"] | {"id": number, "name": number})
            DOMAINS.add(desk, DOMAIN | {"id": number})
        assert [record["id"] for record in FLAVORS.list(desk)] == ["1", "2", "3", "10"]
        assert [record["id"] for record in DOMAINS.list(desk, after="3")] == ["10", "206813"]


def test_a_failing_change_takes_the_earlier_ones_of_its_desk_back(store: Engine) -> None:
    with refused(store, "there is no tenant nobody") as desk:
        NODES.add(desk, {"name": "sh-1"})
        TENANTS.remove(desk, "nobody")


def test_times_without_an_offset_are_in_the_operators_zone(store: Engine) -> None:
    with operator_transaction(store, actor="a", now=NOW, zone=ZoneInfo("Asia/Shanghai")) as desk:
        done = NEWS.add(desk, NEW["news"] | {"date": "2026-09-09 08:00"})
    assert done.after is not None
    assert done.after["date"] == "2026-09-09T00:00:00Z"


def test_a_desk_to_look_from_writes_nothing_and_waits_for_no_writer(store: Engine) -> None:
    with desk_of(store) as writer:
        NODES.add(writer, {"name": "sh-1"})
        with read_only_transaction(store, now=NOW) as desk:
            assert [record["name"] for record in NODES.list(desk)] == ["hk-1", "hk-2"]


def test_a_refusal_is_an_operators_error(store: Engine) -> None:
    with pytest.raises(OperatorError), desk_of(store) as desk:
        TENANTS.show(desk, "nobody")
    with store.begin() as connection:
        assert connection.scalar(text("SELECT COUNT(*) FROM operator_audit")) == 1


def test_a_second_one_is_refused_in_good_english(store: Engine) -> None:
    with refused(store, "^username: account ann already exists$") as desk:
        ACCOUNTS.add(desk, NEW["account"] | {"username": "ann"})
    with refused(store, "^id: URL url-ab12cd34 already exists$") as desk:
        URLS.add(desk, NEW["url"] | {"id": "url-ab12cd34"})


def test_what_gets_another_key_is_found_in_the_trail_by_both(store: Engine) -> None:
    with desk_of(store) as desk:
        TENANTS.change(desk, "demo", {"name": "renamed"})
    with store.begin() as connection:
        found = {key: find_changes(connection, AuditQuery(subject=key))[0] for key in ("demo", "renamed")}
    assert {key: line["change"] for key, line in found.items()} == {"demo": "tenant.change", "renamed": "tenant.rename"}
    for line in found.values():
        assert (line["before"]["name"], line["after"]["name"]) == ("demo", "renamed")


@pytest.mark.parametrize(
    ("noun", "values", "fields"),
    [
        (ACCOUNTS, {"role": "king", "password_hash": SECRET_HASH}, ["tenant", "username", "role"]),
        (DOMAINS, {"tenant": "nobody", "id": "x"}, ["tenant", "id", "name", "serviceAreas"]),
        (PRICES, {"kind": "volume", "unit": "vcpu", "node": "nowhere", "price": "0,01"}, ["price", "unit", "node"]),
        (RESOURCES, {"kind": "volume", "node": "nowhere", "size": "big"}, ["tenant", "id", "size", "node"]),
    ],
    ids=["account", "domain", "price", "resource"],
)
def test_all_that_does_not_fit_is_told_at_once(
    store: Engine, noun: EntityType, values: dict[str, Any], fields: list[str]
) -> None:
    with pytest.raises(ValidationError) as refusal, desk_of(store) as desk:
        noun.add(desk, values)
    assert set(fields) <= {path[0] for path, _ in refusal.value.errors}


@pytest.mark.parametrize("noun", [URLS, NEWS], ids=named)
def test_the_same_sent_twice_under_a_fresh_key_is_added_once(store: Engine, noun: EntityType) -> None:
    values = {name: value for name, value in NEW[noun.name].items() if name not in ("id", "date")}
    with desk_of(store) as desk:
        key = noun.fresh_key(desk)
        assert key is not None
        first = noun.add_once(desk, key, values)
    with desk_of(store, now=NOW + 60) as desk:
        again = noun.add_once(desk, key, values)
        other = noun.add_once(desk, key, values | {"url": "https://example.com/another"})
    assert (first.subject, first.changed) == (key, True)
    assert (again.subject, again.changed) == (key, False)
    assert (other.subject != key, other.changed) == (True, True)


def test_keys_that_are_given_are_not_made_up(store: Engine) -> None:
    with desk_of(store) as desk:
        assert TENANTS.fresh_key(desk) is None


def test_a_domain_is_found_by_its_id_or_name(store: Engine) -> None:
    with desk_of(store) as desk:
        DOMAINS.add(desk, NEW["domain"] | {"id": "77", "name": "one.example"})
        for prefix in ("77", "one."):
            assert [record["id"] for record in DOMAINS.list(desk, {"prefix": prefix})] == ["77"]

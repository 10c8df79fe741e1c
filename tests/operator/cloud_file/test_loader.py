"""Loading makes the store equal to the file in one transaction and writes only differences."""

from datetime import UTC, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.cloud_file import dump, load
from cloudconsole.operator.cloud_file.table_changes import Counts
from cloudconsole.operator.cloud_file.yaml import TimeText, meaning_of
from cloudconsole.store import tables
from cloudconsole.store.passwords import password_matches
from tests.operator.clouds import (
    OTHER_HASH,
    SECRET_HASH,
    SMALL,
    assert_counters_correct,
    by_name,
    contents,
    expected_totals,
    load_text,
    rows,
    write,
)
from tests.operator.transactions import last_entry


def test_load_into_an_empty_store_adds_everything(engine: Engine, tmp_path: Path) -> None:
    summary = load_text(engine, tmp_path, SMALL)
    many = {"nodes": 2, "tenants": 2, "flavors": 2, "prices": 3, "urls": 2, "quotas": 2, "accounts": 2, "resources": 4}
    assert summary.counts == {name: Counts(added=count) for name, count in (many | {"news": 1, "domains": 1}).items()}


def test_loading_the_same_file_again_writes_nothing(small: Engine, tmp_path: Path) -> None:
    before = contents(small)
    statements: list[str] = []
    event.listen(small, "before_cursor_execute", lambda *given: statements.append(given[2]))
    summary = load_text(small, tmp_path, SMALL)
    assert not summary.changed
    assert str(summary) == "nothing to change"
    assert {statement.split()[0] for statement in statements} <= {"SELECT", "BEGIN", "SET"}
    assert contents(small) == before


def test_an_empty_file_removes_everything(small: Engine, tmp_path: Path) -> None:
    load_text(small, tmp_path, "version: 1\n")
    record = {"billing_entries", "price_entries", "billing_state", "record_names"}
    assert {name for name, found in contents(small).items() if found} == {"operator_audit", *record}


def test_failed_load_changes_nothing(small: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(small)
    monkeypatch.delattr("cloudconsole.store.counters.recount_all")
    with pytest.raises(AttributeError):
        load_text(small, tmp_path, "version: 1\nnodes: [new]\n")
    assert contents(small) == before


def test_dry_run_reports_changes_and_rolls_back(small: Engine, tmp_path: Path) -> None:
    before = contents(small)
    file = write(tmp_path, "version: 1\nnodes: [hk-1, hk-2, new]\n")
    summary = load(small, file, zone=UTC, now=1, actor="tester", dry_run=True)
    assert summary.counts["nodes"] == Counts(added=1)
    assert contents(small) == before


def test_summary_and_audit_entry_have_the_counts_of_each_changed_table(small: Engine, tmp_path: Path) -> None:
    changed = SMALL.replace("ram: 512", "ram: 1024").replace("nodes: [hk-1, hk-2]", "nodes: [hk-1, hk-2, sh-1]")
    assert str(load_text(small, tmp_path, changed)) == "nodes: 1 added\nflavors: 1 changed"
    counts = {"nodes": Counts(added=1)._asdict(), "flavors": Counts(changed=1)._asdict()}
    head = {"at": 1_800_000_000, "actor": "tester", "change": "load", "subject": "cloud.yaml"}
    entry = last_entry(small)
    assert entry == head | {"id": entry["id"], "before": None, "after": counts}


def test_unique_values_can_be_swapped(small: Engine, tmp_path: Path) -> None:
    swapped = SMALL.replace("m1.tiny", "?").replace("2C4G40G", "m1.tiny").replace("?", "2C4G40G")
    load_text(small, tmp_path, swapped)
    assert {row["id"]: row["name"] for row in rows(small, tables.flavors)} == {"1": "2C4G40G", "2": "m1.tiny"}


PROJECTS = "version: 1\ntenants:\n- {name: a, project: p@https://id.example.com}\n- {name: b, project: q@http://id}\n"


@pytest.mark.parametrize(
    ("text", "projects"),
    [
        (PROJECTS.replace("name: a", "name: c").replace("name: b", "name: a").replace("name: c", "name: b"), "b a"),
        (PROJECTS.replace("name: a", "name: c"), "c b"),
        (PROJECTS.replace(", project: q@http://id", "").replace("name: b", "name: c"), "a -"),
    ],
    ids=["swapped", "renamed", "omitted"],
)
def test_projects_can_move_between_tenants(engine: Engine, tmp_path: Path, text: str, projects: str) -> None:
    """`projects` names the tenants of both projects after the load."""
    load_text(engine, tmp_path, PROJECTS)
    load_text(engine, tmp_path, text)
    found = {row["project"]: row["name"] for row in rows(engine, tables.tenants)}
    assert " ".join(found.get(project, "-") for project in ("p@https://id.example.com", "q@http://id")) == projects


def test_setting_a_project_of_a_disabled_tenant_ends_no_sessions(small: Engine, tmp_path: Path) -> None:
    load_text(small, tmp_path, DISABLED)
    before = by_name(small, tables.accounts, "username")["ann"]["version"]
    load_text(small, tmp_path, DISABLED.replace("  - name: demo\n", "  - name: demo\n    project: p@http://id\n"))
    assert by_name(small, tables.tenants)["demo"]["project"] == "p@http://id"
    assert by_name(small, tables.accounts, "username")["ann"]["version"] == before


@pytest.mark.parametrize(
    ("old", "new", "ended_at"),
    [
        ("name: a", "name: a, disabled: true", 1_800_000_000),
        ("p@https://id.example.com", "r@https://id.example.com", 1_800_000_000),
        ("name: b", "name: b, disabled: true", 0),
    ],
    ids=["disabled", "another project", "another tenant"],
)
def test_some_changes_end_federated_sessions(engine: Engine, tmp_path: Path, old: str, new: str, ended_at: int) -> None:
    load_text(engine, tmp_path, PROJECTS)
    load_text(engine, tmp_path, PROJECTS.replace(old, new))
    assert by_name(engine, tables.tenants)["a"]["guests_ended_at"] == ended_at


def test_ids_stay_when_other_rows_change(small: Engine, tmp_path: Path) -> None:
    before = by_name(small, tables.accounts, "username")["bob"]
    load_text(small, tmp_path, SMALL.replace(ANN, "").replace("quotas: {instances: 20", "quotas: {instances: 21"))
    assert rows(small, tables.accounts) == [before]


ANN = f'      - {{username: ann, password_hash: "{SECRET_HASH}"}}\n'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SMALL.replace(ANN, ANN.replace(SECRET_HASH, OTHER_HASH)), id="password"),
        pytest.param(SMALL.replace(ANN, ANN.replace("ann,", "ann, disabled: true,")), id="disabled"),
        pytest.param(SMALL.replace(ANN, ANN.replace("ann,", "ann, role: operator,")), id="role"),
        pytest.param(SMALL.replace(ANN, "") + f"    accounts:\n{ANN}", id="tenant"),
    ],
)
def test_a_change_that_must_end_sessions_gives_a_new_version(small: Engine, tmp_path: Path, text: str) -> None:
    before = by_name(small, tables.accounts, "username")
    load_text(small, tmp_path, text)
    after = by_name(small, tables.accounts, "username")
    assert after["ann"]["version"] != before["ann"]["version"]
    assert after["ann"]["id"] == before["ann"]["id"]
    assert after["bob"] == before["bob"]


def test_account_removed_and_added_again_gets_a_new_version(small: Engine, tmp_path: Path) -> None:
    before = by_name(small, tables.accounts, "username")["ann"]["version"]
    load_text(small, tmp_path, SMALL.replace(ANN, ""))
    load_text(small, tmp_path, SMALL)
    assert by_name(small, tables.accounts, "username")["ann"]["version"] != before


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("password", ["a long secret", "changed secret"])
def test_changed_password_file_gives_new_version(small: Engine, tmp_path: Path, password: str, ending: bytes) -> None:
    before = by_name(small, tables.accounts, "username")["ann"]
    (tmp_path / "ann.txt").write_bytes(password.encode() + ending)
    text = SMALL.replace(f'password_hash: "{SECRET_HASH}"', "password_file: ann.txt", 1)
    changed = password != "a long secret"
    assert load_text(small, tmp_path, text).changed == changed
    after = by_name(small, tables.accounts, "username")["ann"]
    assert (after["version"] != before["version"]) == changed
    assert password_matches(after["password_hash"], password)


VOLUME = "      - {id: v-1, kind: volume, name: data, node: hk-1, size: 100, started: 2026-02-03T04:05:06Z}\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SMALL, id="unchanged"),
        pytest.param(SMALL.replace("ram: 4000", "ram: 9000"), id="size"),
        pytest.param(SMALL.replace("name: data, node: hk-1", "name: data, node: hk-2"), id="node"),
        pytest.param(SMALL.replace(", ended: 2026-02-04T00:00:00Z", ""), id="end-removed"),
        pytest.param(SMALL.replace("  - name: other\n", ""), id="tenant"),
        pytest.param(SMALL.replace("kind: keypair", "kind: security_group"), id="kind"),
        pytest.param(SMALL.replace(VOLUME, "") + f"    resources:\n{VOLUME}", id="another-tenant"),
    ],
)
def test_counters_follow_the_resources(small: Engine, tmp_path: Path, text: str) -> None:
    load_text(small, tmp_path, text)
    assert_counters_correct(small)
    assert expected_totals(rows(small, tables.resources))


def test_omitted_quotas_get_the_default(small: Engine) -> None:
    tenant = by_name(small, tables.tenants)["demo"]["id"]
    quotas = next(row for row in rows(small, tables.quotas) if row["tenant_id"] == tenant)
    assert quotas == {"tenant_id": tenant, **QUOTA_DEFAULTS, "instances": 20, "cores": -1}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("~", None),
        ("TRUE", True),
        ("no", "no"),
        ("-7", -7),
        ("0o17", 15),
        ("0x1F", 31),
        ("007", "007"),
        ("0.1000", Decimal("0.1000")),
        ("4.2e-4", Decimal("0.00042")),
        (".5", Decimal("0.5")),
        ("1.2.3", "1.2.3"),
        ("2026-01-02", TimeText("2026-01-02")),
        ("2026-1-2 03:04", TimeText("2026-1-2 03:04")),
    ],
)
def test_unquoted_scalar_has_its_yaml_type(written: str, value: object) -> None:
    found = meaning_of(written)
    assert (type(found), str(found)) == (type(value), str(value))


def test_time_without_an_offset_is_in_the_operators_zone(engine: Engine, tmp_path: Path) -> None:
    news = "news: [{id: 1, date: 1970-01-02, title: a, url: 'https://example.com/'}]\n"
    load_text(engine, tmp_path, f"version: 1\n{news}", timezone(timedelta(hours=5)))
    assert [row["published_at"] for row in rows(engine, tables.news)] == [86_400 - 5 * 3600]


def test_structured_fields_of_a_domain_are_stored_exactly(engine: Engine, tmp_path: Path) -> None:
    structured = "[{z: 1.10, a: 0.1, big: 123456789012345678901234567890, 名: [null, true, 'no']}]"
    load_text(engine, tmp_path, SMALL.replace("status: Up", f"status: Up, cacheBehaviors: {structured}"))
    (domain,) = rows(engine, tables.domains)
    expected = '[{"z":1.10,"a":0.1,"big":123456789012345678901234567890,"名":[null,true,"no"]}]'
    assert domain["cache_behaviors"] == expected
    assert domain["adv_origin_configs"] == "null"


DISABLED = (
    SMALL.replace("nodes: [hk-1, hk-2]", "nodes: [hk-1, hk-2]\ndisabled_nodes: [hk-2]")
    .replace("disk: 1}", "disk: 1, disabled: true}")
    .replace('url: "https://news.example.com/1"}', 'url: "https://news.example.com/1", disabled: true}')
    .replace('url: "https://files.example.com/"}', 'url: "https://files.example.com/", disabled: true}')
    .replace("  - name: demo\n", "  - name: demo\n    disabled: true\n")
)


def test_entities_disabled_in_a_file_are_disabled_in_the_store(small: Engine, tmp_path: Path) -> None:
    summary = load_text(small, tmp_path, DISABLED)
    changed = {"nodes": 1, "tenants": 1, "flavors": 1, "news": 1, "urls": 1, "accounts": 2}
    assert summary.counts == {name: Counts(changed=count) for name, count in changed.items()}
    assert [row["name"] for row in rows(small, tables.nodes) if row["disabled"]] == ["hk-2"]
    assert [row["name"] for row in rows(small, tables.tenants) if row["disabled"]] == ["demo"]


def test_disabling_a_tenant_ends_sessions_but_enabling_does_not(small: Engine, tmp_path: Path) -> None:
    before = by_name(small, tables.accounts, "username")["ann"]["version"]
    load_text(small, tmp_path, DISABLED)
    disabled = by_name(small, tables.accounts, "username")["ann"]["version"]
    assert not load_text(small, tmp_path, DISABLED).changed
    load_text(small, tmp_path, SMALL)
    assert "disabled" not in dump(small)
    assert before != disabled
    assert by_name(small, tables.accounts, "username")["ann"]["version"] == disabled

"""Loading makes the store equal to the file in one transaction and writes only differences."""

import json
from collections.abc import Callable
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


@pytest.fixture
def loaded(engine_with: Callable[[str], Engine]) -> Engine:
    """A store with the contents of `SMALL`."""
    return engine_with(SMALL)


def test_load_into_an_empty_store_adds_everything(engine: Engine, tmp_path: Path) -> None:
    summary = load_text(engine, tmp_path, SMALL)
    assert summary.counts == {
        "nodes": Counts(added=2),
        "tenants": Counts(added=2),
        "flavors": Counts(added=2),
        "prices": Counts(added=3),
        "news": Counts(added=1),
        "urls": Counts(added=2),
        "quotas": Counts(added=2),
        "accounts": Counts(added=2),
        "domains": Counts(added=1),
        "resources": Counts(added=4),
    }


def test_loading_the_same_file_again_writes_nothing(loaded: Engine, tmp_path: Path) -> None:
    before = contents(loaded)
    statements: list[str] = []
    event.listen(loaded, "before_cursor_execute", lambda *given: statements.append(given[2]))
    summary = load_text(loaded, tmp_path, SMALL)
    assert not summary.changed
    assert str(summary) == "nothing to change"
    assert {statement.split()[0] for statement in statements} <= {"SELECT", "BEGIN", "SET"}
    assert contents(loaded) == before


def test_an_empty_file_removes_everything(loaded: Engine, tmp_path: Path) -> None:
    load_text(loaded, tmp_path, "version: 1\n")
    left = {name for name, found in contents(loaded).items() if found}
    assert left == {"operator_audit"}


def test_a_load_that_fails_half_way_changes_nothing(
    loaded: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    before = contents(loaded)
    monkeypatch.setattr("cloudconsole.store.counters.recount_all", fail)
    with pytest.raises(RuntimeError):
        load_text(loaded, tmp_path, "version: 1\nnodes: [new]\n")
    assert contents(loaded) == before


def test_dry_run_reports_changes_and_rolls_back(loaded: Engine, tmp_path: Path) -> None:
    before = contents(loaded)
    file = write(tmp_path, "version: 1\nnodes: [hk-1, hk-2, new]\n")
    summary = load(loaded, file, zone=UTC, now=1, actor="tester", dry_run=True)
    assert summary.counts["nodes"] == Counts(added=1)
    assert contents(loaded) == before


def test_summary_and_audit_entry_have_the_counts_of_each_changed_table(loaded: Engine, tmp_path: Path) -> None:
    changed = SMALL.replace("ram: 512", "ram: 1024").replace("nodes: [hk-1, hk-2]", "nodes: [hk-1, hk-2, sh-1]")
    assert str(load_text(loaded, tmp_path, changed)) == "nodes: 1 added\nflavors: 1 changed"
    entry = rows(loaded, tables.operator_audit)[-1]
    assert (entry["at"], entry["actor"]) == (1_800_000_000, "tester")
    assert (entry["change"], entry["subject"]) == ("load", "cloud.yaml")
    assert json.loads(entry["after"]) == {
        "nodes": {"added": 1, "changed": 0, "removed": 0},
        "flavors": {"added": 0, "changed": 1, "removed": 0},
    }


def test_unique_values_can_be_swapped(loaded: Engine, tmp_path: Path) -> None:
    swapped = SMALL.replace("m1.tiny", "?").replace("2C4G40G", "m1.tiny").replace("?", "2C4G40G")
    load_text(loaded, tmp_path, swapped)
    assert {row["id"]: row["name"] for row in rows(loaded, tables.flavors)} == {"1": "2C4G40G", "2": "m1.tiny"}


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


def test_setting_a_project_of_a_disabled_tenant_ends_no_sessions(loaded: Engine, tmp_path: Path) -> None:
    load_text(loaded, tmp_path, DISABLED)
    before = by_name(loaded, tables.accounts, "username")["ann"]["version"]
    load_text(loaded, tmp_path, DISABLED.replace("  - name: demo\n", "  - name: demo\n    project: p@http://id\n"))
    assert by_name(loaded, tables.tenants)["demo"]["project"] == "p@http://id"
    assert by_name(loaded, tables.accounts, "username")["ann"]["version"] == before


@pytest.mark.parametrize(
    ("change", "ended_at"),
    [
        (("name: a", "name: a, disabled: true"), 1_800_000_000),
        (("p@https://id.example.com", "r@https://id.example.com"), 1_800_000_000),
        (("name: b", "name: b, disabled: true"), 0),
    ],
    ids=["disabled", "another project", "another tenant"],
)
def test_disabling_or_new_project_ends_federated_sessions(
    engine: Engine, tmp_path: Path, change: tuple[str, str], ended_at: int
) -> None:
    load_text(engine, tmp_path, PROJECTS)
    load_text(engine, tmp_path, PROJECTS.replace(*change))
    assert by_name(engine, tables.tenants)["a"]["guests_ended_at"] == ended_at


def test_ids_stay_when_other_rows_change(loaded: Engine, tmp_path: Path) -> None:
    before = by_name(loaded, tables.accounts, "username")["bob"]
    load_text(loaded, tmp_path, SMALL.replace(ANN, "").replace("quotas: {instances: 20", "quotas: {instances: 21"))
    assert rows(loaded, tables.accounts) == [before]


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
def test_a_change_that_must_end_sessions_gives_a_new_version(loaded: Engine, tmp_path: Path, text: str) -> None:
    before = by_name(loaded, tables.accounts, "username")
    load_text(loaded, tmp_path, text)
    after = by_name(loaded, tables.accounts, "username")
    assert after["ann"]["version"] != before["ann"]["version"]
    assert after["ann"]["id"] == before["ann"]["id"]
    assert after["bob"] == before["bob"]


def test_account_removed_and_added_again_gets_a_new_version(loaded: Engine, tmp_path: Path) -> None:
    before = by_name(loaded, tables.accounts, "username")["ann"]["version"]
    load_text(loaded, tmp_path, SMALL.replace(ANN, ""))
    load_text(loaded, tmp_path, SMALL)
    assert by_name(loaded, tables.accounts, "username")["ann"]["version"] != before


@pytest.mark.parametrize("content", [b"a long secret", b"a long secret\n", b"a long secret\r\n"])
def test_password_file_is_relative_to_the_cloud_file(engine: Engine, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ann.txt").write_bytes(content)
    load_text(engine, tmp_path, SMALL.replace(f'password_hash: "{SECRET_HASH}"', "password_file: ann.txt", 1))
    assert password_matches(by_name(engine, tables.accounts, "username")["ann"]["password_hash"], "a long secret")


@pytest.mark.parametrize(("password", "changed"), [("a long secret", False), ("changed secret", True)])
def test_only_a_changed_password_file_gives_a_new_version(
    loaded: Engine, tmp_path: Path, password: str, changed: bool
) -> None:
    before = by_name(loaded, tables.accounts, "username")["ann"]["version"]
    (tmp_path / "ann.txt").write_text(f"{password}\n")
    text = SMALL.replace(f'password_hash: "{SECRET_HASH}"', "password_file: ann.txt", 1)
    assert load_text(loaded, tmp_path, text).changed == changed
    assert (by_name(loaded, tables.accounts, "username")["ann"]["version"] != before) == changed


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
def test_counters_follow_the_resources(loaded: Engine, tmp_path: Path, text: str) -> None:
    load_text(loaded, tmp_path, text)
    assert_counters_correct(loaded)
    assert expected_totals(rows(loaded, tables.resources))


def test_omitted_quotas_get_the_default(loaded: Engine) -> None:
    tenant = by_name(loaded, tables.tenants)["demo"]["id"]
    quotas = next(row for row in rows(loaded, tables.quotas) if row["tenant_id"] == tenant)
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


def test_entities_disabled_in_a_file_are_disabled_in_the_store(loaded: Engine, tmp_path: Path) -> None:
    summary = load_text(loaded, tmp_path, DISABLED)
    assert {table: counts.changed for table, counts in summary.counts.items()} == {
        "nodes": 1,
        "tenants": 1,
        "flavors": 1,
        "news": 1,
        "urls": 1,
        "accounts": 2,
    }
    assert [row["name"] for row in rows(loaded, tables.nodes) if row["disabled"]] == ["hk-2"]
    assert [row["name"] for row in rows(loaded, tables.tenants) if row["disabled"]] == ["demo"]


def test_disabling_a_tenant_ends_sessions_but_enabling_does_not(loaded: Engine, tmp_path: Path) -> None:
    before = by_name(loaded, tables.accounts, "username")["ann"]["version"]
    load_text(loaded, tmp_path, DISABLED)
    disabled = by_name(loaded, tables.accounts, "username")["ann"]["version"]
    assert not load_text(loaded, tmp_path, DISABLED).changed
    load_text(loaded, tmp_path, SMALL)
    assert "disabled" not in dump(loaded)
    assert before != disabled
    assert by_name(loaded, tables.accounts, "username")["ann"]["version"] == disabled

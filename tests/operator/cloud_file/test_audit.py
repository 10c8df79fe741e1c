"""Audit entries of a load: one per change, as single commands write them, and one for the load itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.cloud_file import loader
from cloudconsole.operator.entities import (
    ACCOUNTS,
    DOMAINS,
    FLAVORS,
    NEWS,
    NODES,
    PRICES,
    QUOTAS,
    RESOURCES,
    TENANTS,
    URLS,
    ChangeResult,
)
from cloudconsole.store import tables
from tests.operator.clouds import OTHER_HASH, SECRET_HASH, SMALL, load_text, rows
from tests.operator.transactions import transaction

Entry = tuple[str, str, dict[str, Any] | None, dict[str, Any] | None]
BOB = f'      - {{username: bob, password_hash: "{SECRET_HASH}"}}\n'
EVE = {"tenant": "demo", "username": "eve", "password_hash": OTHER_HASH}
PRICE = "volume/gb/2026-01-01T00:00:00Z/hk-1"
PRICE_LINE = "  - {kind: volume, unit: gb, node: hk-1, price: 0.0004, from: 2026-01-01T00:00:00Z}\n"
KEYPAIR = "      - {id: k-1, kind: keypair, name: laptop, started: 2026-02-03T04:05:06Z}\n"


def entries(engine: Engine) -> list[Entry]:
    """Return the audit log, oldest entry first."""
    with engine.begin() as connection:
        found = find_changes(connection, AuditQuery())
    return [(entry["change"], entry["subject"], entry["before"], entry["after"]) for entry in reversed(found)]


def entries_of_load(engine: Engine, directory: Path, text: str, *, force: bool = False) -> list[Entry]:
    """Return the entries that a load adds before the entry of the load itself."""
    count = len(entries(engine))
    load_text(engine, directory, text, force=force)
    *each, (change, subject, _, _) = entries(engine)[count:]
    assert (change, subject) == ("load (forced)" if force else "load", "cloud.yaml")
    return each


def edited(old: str, new: str) -> str:
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


LAST = "  - name: other\n"
PROJECT = "project: p@https://id.example.com"
NEW_ACCOUNT = f'      - {{username: eve, password_hash: "{OTHER_HASH}"}}\n'
SSD = {"kind": "volume", "unit": "gb", "type": "ssd", "price": "1", "from": "2026-01-01"}
SSD_LINE = "  - {kind: volume, unit: gb, type: ssd, price: 1, from: 2026-01-01}\n"
SECOND_KEYPAIR = {"tenant": "demo", "id": "k-2", "kind": "keypair", "name": "k", "started": "2026-02-03"}
SECOND_KEYPAIR_LINE = "      - {id: k-2, kind: keypair, name: k, started: 2026-02-03}\n"
MOVED = {"node": "hk-2", "size": 120}


@pytest.mark.parametrize(
    ("verb", "arguments", "old", "new"),
    [
        (TENANTS.add, [{"name": "new", "disabled": True}], LAST, f"{LAST}  - {{name: new, disabled: true}}\n"),
        (TENANTS.change, ["demo", {"disabled": True}], "- name: demo\n", "- name: demo\n    disabled: true\n"),
        (TENANTS.change, ["other", {"project": "p@https://id.example.com/v3"}], LAST, f"{LAST}    {PROJECT}\n"),
        (TENANTS.remove, ["other"], LAST, ""),
        (QUOTAS.change, ["demo", {"instances": 30}], "instances: 20", "instances: 30"),
        (ACCOUNTS.add, [EVE], BOB, BOB + NEW_ACCOUNT),
        (ACCOUNTS.change, ["ann", {"disabled": True}], "username: ann", "username: ann, disabled: true"),
        (ACCOUNTS.reset_password, ["bob", OTHER_HASH], BOB, BOB.replace(SECRET_HASH, OTHER_HASH)),
        (ACCOUNTS.remove, ["bob"], BOB, ""),
        (NODES.add, [{"name": "hk-3"}], "hk-2]", "hk-2, hk-3]"),
        (NODES.change, ["hk-2", {"disabled": True}], "hk-2]\n", "hk-2]\ndisabled_nodes: [hk-2]\n"),
        (PRICES.change, [PRICE, {"price": "0.0005"}], "price: 0.0004,", "price: 0.0005,"),
        (PRICES.add, [SSD], PRICE_LINE, PRICE_LINE + SSD_LINE),
        (PRICES.remove, [PRICE], PRICE_LINE, ""),
        (RESOURCES.change, ["v-1", MOVED], "data, node: hk-1, size: 100", "data, node: hk-2, size: 120"),
        (RESOURCES.remove, ["k-1"], KEYPAIR, ""),
        (RESOURCES.add, [SECOND_KEYPAIR], KEYPAIR, KEYPAIR + SECOND_KEYPAIR_LINE),
        (FLAVORS.change, ["1", {"ram": 640}], "ram: 512", "ram: 640"),
        (URLS.change, ["url-00000001", {"type": "link"}], "type: directory", "type: link"),
        (URLS.change, ["url-ab12cd34", {"url": "https://new.example.com/"}], "www.example.com/", "new.example.com/"),
        (DOMAINS.change, ["206813", {"status": "Down"}], "status: Up", "status: Down"),
        (NEWS.change, ["1", {"title": "New"}], "title: 上线", "title: New"),
    ],
)
def test_load_records_the_same_entry_as_the_single_command(
    small: Engine, tmp_path: Path, verb: Callable[..., ChangeResult], arguments: list[Any], old: str, new: str
) -> None:
    with transaction(small, force=True) as tx:
        verb(tx, *arguments)
    change, *others = entries(small)[-1]
    load_text(small, tmp_path, SMALL, force=True)
    assert entries_of_load(small, tmp_path, edited(old, new)) == [(change.removesuffix(" (forced)"), *others)]


def test_quotas_of_a_new_tenant_are_recorded_if_not_the_defaults(small: Engine, tmp_path: Path) -> None:
    added, quotas = entries_of_load(small, tmp_path, SMALL + "  - {name: new, quotas: {cores: 7}}\n")
    assert added == ("tenant.add", "new", None, {"name": "new"})
    before = {"tenant": "new", **QUOTA_DEFAULTS}
    assert quotas == ("quota.change", "new", before, before | {"cores": 7})


def test_each_of_many_changes_has_an_entry(small: Engine, tmp_path: Path) -> None:
    found = entries_of_load(small, tmp_path, "version: 1\n")
    removed = sorted(f"{change} {subject}" for change, subject, _, _ in found)
    assert removed == [
        "account.remove ann", "account.remove bob", "domain.remove 206813", "flavor.remove 1", "flavor.remove 2",
        "news.remove 1", "node.remove hk-1", "node.remove hk-2", "price.remove instance/vcpu/2026-01-01T00:00:00Z",
        "price.remove volume/gb/2026-01-01T00:00:00Z", f"price.remove {PRICE}", "resource.remove i-1",
        "resource.remove k-1", "resource.remove v-1", "resource.remove v-2", "tenant.remove demo",
        "tenant.remove other", "url.remove url-00000001", "url.remove url-ab12cd34",
    ]  # fmt: skip
    named = {subject: before for _, subject, before, _ in found}
    assert named["v-1"] is not None
    assert (named["v-1"]["tenant"], named["v-1"]["node"]) == ("demo", "hk-1")


def test_changed_account_and_password_have_separate_entries(small: Engine, tmp_path: Path) -> None:
    text = edited(BOB, BOB.replace(SECRET_HASH, OTHER_HASH).replace("bob,", "bob, role: operator,"))
    found = [entry[:2] for entry in entries_of_load(small, tmp_path, text)]
    assert found == [("account.change", "bob"), ("account.password", "bob")]


def test_audit_log_has_no_passwords_or_hashes(small: Engine, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter-two\n")
    by_file = "      - {username: bob, password_file: secret}\n      - {username: eve, password_file: secret}\n"
    load_text(small, tmp_path, edited(BOB, by_file))
    load_text(small, tmp_path, SMALL)
    text = json.dumps(rows(small, tables.operator_audit))
    assert "account.password" in text
    assert "argon2" not in text
    assert "hunter-two" not in text


def test_load_records_each_change_unless_the_store_was_empty(engine: Engine, tmp_path: Path) -> None:
    assert entries_of_load(engine, tmp_path, "version: 1\nnodes: [hk-1]\n") == []
    found = [entry[:2] for entry in entries_of_load(engine, tmp_path, SMALL, force=True)]
    assert ("account.add (forced)", "ann") in found


def test_many_resources_are_only_counted(small: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = edited("ram: 512", "ram: 640").replace(KEYPAIR, "").replace("size: 100", "size: 101")
    monkeypatch.setattr(loader, "MAX_AUDITED_RESOURCES", 1)
    assert [entry[:2] for entry in entries_of_load(small, tmp_path, text)] == [("flavor.change", "1")]
    summary = entries(small)[-1][3]
    assert summary is not None
    assert summary["resources"] == {"added": 0, "changed": 1, "removed": 1}
    monkeypatch.setattr(loader, "MAX_AUDITED_RESOURCES", 2)
    assert ("resource.change", "v-1") in [entry[:2] for entry in entries_of_load(small, tmp_path, SMALL)]

"""What a load leaves in the trail: a line for each thing, as the single commands write them, and one for the whole."""

import json
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.audit import AuditQuery, find_changes
from cloudconsole.operator.cloud_file import load, loader
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
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.store import tables
from tests.operator.clouds import OTHER_HASH, SECRET_HASH, SMALL, contents, load_text, rows, write
from tests.operator.transactions import NOW, desk_of

Told = tuple[str, str, dict[str, Any] | None, dict[str, Any] | None]
BOB = f'      - {{username: bob, password_hash: "{SECRET_HASH}"}}\n'
EVE = {"tenant": "demo", "username": "eve", "password_hash": OTHER_HASH}
PRICE = "volume/gb/2026-01-01T00:00:00Z/hk-1"
PRICE_LINE = "  - {kind: volume, unit: gb, node: hk-1, price: 0.0004, from: 2026-01-01T00:00:00Z}\n"
KEYPAIR = "      - {id: k-1, kind: keypair, name: laptop, started: 2026-02-03T04:05:06Z}\n"


@pytest.fixture
def loaded(engine_with: Callable[[str], Engine]) -> Engine:
    """A store that holds `SMALL`."""
    return engine_with(SMALL)


def told(engine: Engine) -> list[Told]:
    """The trail from its beginning."""
    with engine.begin() as connection:
        lines = find_changes(connection, AuditQuery())
    return [(line["change"], line["subject"], line["before"], line["after"]) for line in reversed(lines)]


def told_by(engine: Engine, folder: Path, text: str, *, force: bool = False) -> list[Told]:
    """What a load adds to the trail before its own line, which is the last one."""
    known = len(told(engine))
    load_text(engine, folder, text, force=force)
    *each, (change, subject, _, _) = told(engine)[known:]
    assert (change, subject) == ("load (forced)" if force else "load", "cloud.yaml")
    return each


def edited(old: str, new: str) -> str:
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


@pytest.mark.parametrize(
    ("single", "text"),
    [
        pytest.param(
            lambda desk: TENANTS.add(desk, {"name": "new", "disabled": True}),
            SMALL + "  - {name: new, disabled: true}\n",
            id="tenant.add",
        ),
        pytest.param(
            lambda desk: TENANTS.change(desk, "demo", {"disabled": True}),
            edited("  - name: demo\n", "  - name: demo\n    disabled: true\n"),
            id="tenant.change",
        ),
        pytest.param(
            lambda desk: TENANTS.change(desk, "other", {"project": "p@https://id.example.com/v3"}),
            SMALL + "    project: p@https://id.example.com\n",
            id="tenant.change-project",
        ),
        pytest.param(lambda desk: TENANTS.remove(desk, "other"), edited("  - name: other\n", ""), id="tenant.remove"),
        pytest.param(
            lambda desk: QUOTAS.change(desk, "demo", {"instances": 30}),
            edited("instances: 20", "instances: 30"),
            id="quota.change",
        ),
        pytest.param(
            lambda desk: ACCOUNTS.add(desk, EVE),
            edited(BOB, f'{BOB}      - {{username: eve, password_hash: "{OTHER_HASH}"}}\n'),
            id="account.add",
        ),
        pytest.param(
            lambda desk: ACCOUNTS.change(desk, "ann", {"role": "operator"}),
            edited("username: ann", "username: ann, role: operator"),
            id="account.change",
        ),
        pytest.param(
            lambda desk: ACCOUNTS.change(desk, "bob", {"tenant": "other"}),
            edited(BOB, "") + f"    accounts:\n{BOB}",
            id="account.change-tenant",
        ),
        pytest.param(
            lambda desk: ACCOUNTS.reset_password(desk, "bob", OTHER_HASH),
            edited(BOB, BOB.replace(SECRET_HASH, OTHER_HASH)),
            id="account.password",
        ),
        pytest.param(lambda desk: ACCOUNTS.remove(desk, "bob"), edited(BOB, ""), id="account.remove"),
        pytest.param(lambda desk: NODES.add(desk, {"name": "hk-3"}), edited("hk-2]", "hk-2, hk-3]"), id="node.add"),
        pytest.param(
            lambda desk: NODES.change(desk, "hk-2", {"disabled": True}),
            edited("hk-2]\n", "hk-2]\ndisabled_nodes: [hk-2]\n"),
            id="node.change",
        ),
        pytest.param(
            lambda desk: PRICES.change(desk, PRICE, {"price": "0.0005"}),
            edited("price: 0.0004,", "price: 0.0005,"),
            id="price.change",
        ),
        pytest.param(
            lambda desk: PRICES.add(
                desk, {"kind": "volume", "unit": "gb", "type": "ssd", "price": "1", "from": "2026-01-01"}
            ),
            edited(PRICE_LINE, PRICE_LINE + "  - {kind: volume, unit: gb, type: ssd, price: 1, from: 2026-01-01}\n"),
            id="price.add-type",
        ),
        pytest.param(lambda desk: PRICES.remove(desk, PRICE), edited(PRICE_LINE, ""), id="price.remove"),
        pytest.param(
            lambda desk: RESOURCES.change(desk, "v-1", {"node": "hk-2", "size": 120}),
            edited("name: data, node: hk-1, size: 100", "name: data, node: hk-2, size: 120"),
            id="resource.change",
        ),
        pytest.param(lambda desk: RESOURCES.remove(desk, "k-1"), edited(KEYPAIR, ""), id="resource.remove"),
        pytest.param(
            lambda desk: RESOURCES.add(
                desk, {"tenant": "demo", "id": "k-2", "kind": "keypair", "name": "k", "started": "2026-02-03"}
            ),
            edited(KEYPAIR, KEYPAIR + "      - {id: k-2, kind: keypair, name: k, started: 2026-02-03}\n"),
            id="resource.add",
        ),
        pytest.param(
            lambda desk: FLAVORS.change(desk, "1", {"ram": 640}), edited("ram: 512", "ram: 640"), id="flavor.change"
        ),
        pytest.param(
            lambda desk: URLS.change(desk, "url-00000001", {"type": "link"}),
            edited("type: directory", "type: link"),
            id="url.change",
        ),
        pytest.param(
            lambda desk: URLS.change(desk, "url-ab12cd34", {"url": "https://new.example.com/"}),
            edited("https://www.example.com/", "https://new.example.com/"),
            id="url.change-shared",
        ),
        pytest.param(
            lambda desk: DOMAINS.change(desk, "206813", {"status": "Down"}),
            edited("status: Up", "status: Down"),
            id="domain.change",
        ),
        pytest.param(
            lambda desk: NEWS.change(desk, "1", {"title": "New"}), edited("title: 上线", "title: New"), id="news.change"
        ),
    ],
)
def test_a_load_notes_what_the_single_command_does(
    loaded: Engine, tmp_path: Path, single: Callable[[OperatorTransaction], ChangeResult], text: str
) -> None:
    with desk_of(loaded) as desk:
        single(desk)
    line = told(loaded)[-1]
    load_text(loaded, tmp_path, SMALL, force=True)
    assert told_by(loaded, tmp_path, text) == [line]


def test_a_new_tenants_quotas_are_noted_where_they_are_not_the_defaults(loaded: Engine, tmp_path: Path) -> None:
    added, quotas = told_by(loaded, tmp_path, SMALL + "  - {name: new, quotas: {cores: 7}}\n")
    assert added == ("tenant.add", "new", None, {"name": "new"})
    change, subject, before, after = quotas
    assert (change, subject) == ("quota.change", "new")
    assert before is not None
    assert after == {**before, "cores": 7}


def test_each_of_many_things_has_its_line(loaded: Engine, tmp_path: Path) -> None:
    lines = told_by(loaded, tmp_path, "version: 1\n")
    removed = sorted(f"{change} {subject}" for change, subject, _, _ in lines)
    assert removed == [
        "account.remove ann", "account.remove bob", "domain.remove 206813", "flavor.remove 1", "flavor.remove 2",
        "news.remove 1", "node.remove hk-1", "node.remove hk-2", "price.remove instance/vcpu/2026-01-01T00:00:00Z",
        "price.remove volume/gb/2026-01-01T00:00:00Z", f"price.remove {PRICE}", "resource.remove i-1",
        "resource.remove k-1", "resource.remove v-1", "resource.remove v-2", "tenant.remove demo",
        "tenant.remove other", "url.remove url-00000001", "url.remove url-ab12cd34",
    ]  # fmt: skip
    named = {subject: before for _, subject, before, _ in lines}
    assert named["v-1"] is not None
    assert (named["v-1"]["tenant"], named["v-1"]["node"]) == ("demo", "hk-1")


def test_an_account_changed_in_both_ways_has_both_lines(loaded: Engine, tmp_path: Path) -> None:
    text = edited(BOB, BOB.replace(SECRET_HASH, OTHER_HASH).replace("bob,", "bob, role: operator,"))
    assert [line[:2] for line in told_by(loaded, tmp_path, text)] == [
        ("account.change", "bob"),
        ("account.password", "bob"),
    ]


def test_no_password_nor_its_hash_is_in_the_trail(loaded: Engine, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter-two\n")
    by_file = "      - {username: bob, password_file: secret}\n      - {username: eve, password_file: secret}\n"
    load_text(loaded, tmp_path, edited(BOB, by_file))
    load_text(loaded, tmp_path, SMALL)
    text = json.dumps(rows(loaded, tables.operator_audit))
    assert "account.password" in text
    assert "argon2" not in text
    assert "hunter-two" not in text


def test_the_lines_are_found_by_subject_and_by_how_the_change_begins(loaded: Engine, tmp_path: Path) -> None:
    load_text(loaded, tmp_path, edited(BOB, BOB.replace(SECRET_HASH, OTHER_HASH)))
    with loaded.begin() as connection:
        by_subject = find_changes(connection, AuditQuery(subject="bob"))
        assert find_changes(connection, AuditQuery(change="account.")) == by_subject
    (line,) = by_subject
    assert (line["actor"], line["at"], line["change"]) == ("tester", "2027-01-15T08:00:00Z", "account.password")


def test_the_lines_of_a_forced_load_say_so(loaded: Engine, tmp_path: Path) -> None:
    (line,) = told_by(loaded, tmp_path, edited("ram: 512", "ram: 640"), force=True)
    assert line[0] == "flavor.change (forced)"


def test_the_load_of_an_empty_store_has_one_line(engine: Engine, tmp_path: Path) -> None:
    assert told_by(engine, tmp_path, SMALL) == []


def test_a_load_into_a_store_with_anything_in_it_notes_each_thing(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, "version: 1\nnodes: [hk-1]\n")
    assert ("account.add", "ann") in [line[:2] for line in told_by(engine, tmp_path, SMALL)]


def test_a_dry_run_leaves_no_line(loaded: Engine, tmp_path: Path) -> None:
    before = contents(loaded)
    file = write(tmp_path, edited("ram: 512", "ram: 640"))
    load(loaded, file, now=NOW, actor="tester", zone=UTC, dry_run=True)
    assert contents(loaded) == before


def test_of_too_many_resources_only_the_count_is_noted(
    loaded: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = edited("ram: 512", "ram: 640").replace(KEYPAIR, "").replace("size: 100", "size: 101")
    monkeypatch.setattr(loader, "MAX_AUDITED_RESOURCES", 1)
    assert [line[:2] for line in told_by(loaded, tmp_path, text)] == [("flavor.change", "1")]
    summary = told(loaded)[-1][3]
    assert summary is not None
    assert summary["resources"] == {"added": 0, "changed": 1, "removed": 1}
    monkeypatch.setattr(loader, "MAX_AUDITED_RESOURCES", 2)
    assert ("resource.change", "v-1") in [line[:2] for line in told_by(loaded, tmp_path, SMALL)]

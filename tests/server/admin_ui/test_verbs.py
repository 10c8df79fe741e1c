"""Every verb of every entity type: the form makes the same change and audit entry as the command."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from cloudconsole.cli.main import main
from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.operator.rows_and_records import parse_json
from cloudconsole.server.commands.admin.entities import flag_of
from cloudconsole.store.tables import operator_audit
from tests.server.admin_ui.pages import Operator, Page
from tests.server.http.helpers import rows
from tests.stores import copy_store, database_flags

Command = Callable[..., None]


class Case(NamedTuple):
    """A change through a page, and the arguments of the equivalent command."""

    entity: str
    verb: str
    key: str
    fields: dict[str, str | bool | None]
    flags: list[str]
    first: tuple[str, ...] = ()
    """A command to run first."""


def case(entity: str, verb: str, key: str, *more_flags: str, first: str = "", **fields: str | bool | None) -> Case:
    """Return a case whose flags have the same names and values as the fields, besides `more_flags`."""
    flags = list(more_flags)
    for name, value in fields.items():
        if name == "password":
            flags += ["--password-file", "PASSWORD"]
        elif "__" not in name and name != "password_again":
            flags += [flag_of(name), str(value).lower() if isinstance(value, bool) else str(value)]
    if verb == "add" and key:
        fields[KEY_FIELDS[entity]] = key
    return Case(entity, verb, key, fields, flags, tuple(first.split()))


KEY_FIELDS = {entity.name: entity.key for entity in ENTITY_TYPES}
PRICE = "volume/gb/2025-01-01T00:00:00Z/hk-1"
PROJECT = "b14723e1@https://identity.example.com/v3"
LATER = "2027-01-01T08:30:15"
FROM_LATER = {"from": LATER}
NEW_PASSWORD = {"password": "a secret word", "password_again": "a secret word"}
ORIGIN = """{"originIps": ["192.0.2.1", "2001:db8::1"], "originDomainName": "origin.demo.example.com",
    "advOriginConfigs": [{"isps": ["telecom", "unicom"], "masterIps": ["192.0.2.21"], "backupIps": ["192.0.2.22"],
    "weight": 0.75}]}"""
DOMAIN: dict[str, Any] = {
    "tenant": "demo", "name": "a.example", "serviceAreas": "hk", "serviceType": "web", "cname": "b.example",
    "status": "Deployed", "enabled": False, "cacheBehaviors": '[{"weight": 0.10}]',
    "originConfig__originIps": "192.0.2.1\r\n",
}  # fmt: skip
ADDRESSES = "192.0.2.1\r\n\r\n 2001:db8::1"
SWITCHED = {
    "tenant": "other", "account": "demo", "node": "hk-1", "flavor": "1",
    "url": "url-d3m0l1nk", "domain": "206813", "news": "3",
}  # fmt: skip
"""Keys of entities that can be disabled."""
REMOVED = {name: key for name, key in SWITCHED.items() if name not in ("tenant", "node")}
"""Keys of entities that can be removed, as nothing needs them."""

ADD_OPERATOR = "account add ann --tenant demo --role operator --password-file PASSWORD"

CASES = [
    *(case(entity, "disable", key) for entity, key in SWITCHED.items()),
    *(case(entity, "enable", key, first=f"{entity} disable {key}") for entity, key in SWITCHED.items()),
    *(case(entity, "remove", key) for entity, key in {**REMOVED, "price": PRICE, "resource": "v-d0000001"}.items()),
    *(case(entity, "remove", "new", first=f"{entity} add new") for entity in ("tenant", "node")),
    case("tenant", "add", "acme"),
    case("tenant", "change", "other", name="acme 公司"),
    case("tenant", "change", "other", project=PROJECT),
    case("account", "add", "ann", tenant="demo", role="operator", **NEW_PASSWORD),
    case("account", "change", "ann", first=ADD_OPERATOR, role="tenant"),
    case("account", "password", "demo", **NEW_PASSWORD),
    case("account", "end-sessions", "demo"),
    case("account", "clear-throttle", "demo", address="192.0.2.7"),
    case("quota", "change", "demo", "--gigabytes", "-1", cores="70", gigabytes__unlimited=True),
    case("quota", "reset", "other", first="quota change other --cores 30"),
    case("node", "add", "bj-1"),
    case("node", "change", "hk-1", name="hk-9"),
    case("price", "add", "", kind="volume", unit="gb", price="0.000000001", **FROM_LATER),
    case("price", "add", "", kind="instance", unit="each", type="m1/small", price="1", **FROM_LATER),
    case("price", "change", PRICE, price="0.5"),
    case("resource", "add", "v-1", tenant="demo", kind="volume", name="日志", node="hk-1", size="5", started=LATER),
    case("resource", "change", "v-d0000001", size="7", node="hk-2"),
    case("resource", "end", "v-d0000001", at=LATER),
    case("flavor", "add", "900", name="2C8G80G", vcpus="2", ram="8192", disk="80", disabled=True),
    case("flavor", "change", "1", disk="2"),
    case("url", "add", "url-ab12cd34", type="link", url="https://a.example/"),
    case("url", "change", "url-d3m0l1nk", tenant=""),
    case("domain", "add", "300", "--origin-config", '{"originIps": ["192.0.2.1"]}', **DOMAIN),
    case("domain", "change", "206814", "--origin-config", ORIGIN, comment="", originConfig__originIps=ADDRESSES),
    case("news", "add", "70", title="Two", url="https://n.example/2", date=LATER),
    case("news", "change", "3", date=LATER),
]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `cloudconsole admin` on a store."""
    (tmp_path / "password").write_text("a secret word\n")

    def run(directory: Path, *words: str) -> None:
        arguments = [str(tmp_path / "password") if word == "PASSWORD" else word for word in words]
        code = main(["admin", *arguments, "--data", str(directory), *database_flags(directory)])
        assert code == 0, capsys.readouterr().err

    return run


@pytest.fixture
def other(fast_hash_store: Path, tmp_path: Path) -> Path:
    """A second copy of the store, for the command."""
    return copy_store(fast_hash_store, tmp_path / "other")


def perform(operator: Operator, case: Case) -> Page:
    """Follow the links to the form of a verb, fill it in and submit it."""
    base, one = f"/admin/{case.entity}/", f"/admin/{case.entity}/one/?{urlencode({'key': case.key})}"
    if case.verb == "add":
        page = operator.get(base)
        assert f"{base}add/" in page.links
        page = operator.get(f"{base}add/")
    else:
        page = operator.get(one)
        confirm_path = f"{base}{case.verb}/?{urlencode({'key': case.key})}"
        # An account without failed sign-ins has no link for unlocking it.
        page = operator.get(confirm_path) if confirm_path in page.links or case.verb == "clear-throttle" else page
    return operator.send(page.form(f"{base}{case.verb}/"), **case.fields)


def newest_entry(directory: Path) -> dict[str, Any]:
    entry = rows(directory, operator_audit)[-1]._asdict()
    sides = {name: None if entry[name] is None else parse_json(entry[name]) for name in ("before", "after")}
    return {"actor": entry["actor"], "change": entry["change"], "subject": entry["subject"], **sides}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.entity} {case.verb}")
def test_page_changes_and_audits_like_the_command(
    operator: Operator, data: Path, other: Path, command: Command, case: Case
) -> None:
    for directory in (data, other):
        if case.first:
            command(directory, *case.first)
    command(other, case.entity, case.verb, *([case.key] if case.key else []), *case.flags)
    page = perform(operator, case)
    assert (page.status, page.problems) == (200, [])
    assert 'role="status"' in page.html
    entries = [newest_entry(directory) for directory in (data, other)]
    assert entries[0].pop("actor") == "web:operator"
    assert not entries[1].pop("actor").startswith("web:")
    assert entries[0] == entries[1]
    assert len(rows(data, operator_audit)) == len(rows(other, operator_audit))

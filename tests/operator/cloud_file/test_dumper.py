"""A dumped and reloaded store is identical, down to the last digit."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from cloudconsole.operator.cloud_file import dump
from cloudconsole.operator.cloud_file.yaml import flow, read_document
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.store import tables
from tests.operator.clouds import SMALL, contents, load_text, rows

pytestmark = pytest.mark.slow

texts = st.text(st.characters(exclude_categories=["Cs"]))
decimals = st.decimals(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | decimals | texts,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts.filter(lambda key: key != "<<"), inner, max_size=4)
    ),
    max_leaves=12,
)


def exactly(value: Any) -> Any:
    """Return a form that is equal only if types, digits and order are, too."""
    if isinstance(value, dict):
        return [(key, exactly(part)) for key, part in value.items()]
    if isinstance(value, list):
        return ["list", *map(exactly, value)]
    return type(value).__name__, str(value)


def as_json(value: Any) -> Any:
    """Return the value after a round trip through JSON, which has no integral decimals."""
    if isinstance(value, dict):
        return {key: as_json(part) for key, part in value.items()}
    if isinstance(value, list):
        return [as_json(part) for part in value]
    return json.loads(str(value), parse_float=Decimal) if isinstance(value, Decimal) else value


OPENSTACK = """\
version: 1
nodes: [hk-1]
prices:
  - {kind: instance, unit: each, type: m1.small, price: "0.12", from: 2026-01-01T00:00:00Z}
  - {kind: volume, unit: gb, type: "50% off/ssd", node: hk-1, price: 1, from: 2026-01-01T00:00:00Z}
  - {kind: volume, unit: gb, type: "2026", price: 1, from: 2026-01-01T00:00:00Z}
  - {kind: volume, unit: gb, price: 1, from: 2026-01-01T00:00:00Z}
tenants:
  - {name: a, project: "b14723e114b4411a8669c304760b0507@https://Identity.example.com:443/v3"}
  - {name: b, project: "p@https://identity.example.com/v3/v3//"}
"""


@pytest.mark.parametrize(
    "text",
    ["version: 1\n", SMALL, SAMPLE_FILE.read_text(encoding="utf-8"), OPENSTACK],
    ids=["empty", "small", "sample", "openstack"],
)
def test_dump_loads_into_its_own_and_into_an_empty_store(engine: Engine, tmp_path: Path, text: str) -> None:
    load_text(engine, tmp_path, text)
    before, first = contents(engine), dump(engine)
    assert not load_text(engine, tmp_path, first).changed
    assert contents(engine) == before
    load_text(engine, tmp_path, "version: 1\n", force=True)
    load_text(engine, tmp_path, first)
    assert dump(engine) == first


def test_dump_does_not_depend_on_the_order_of_the_file(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, "version: 1\nnodes: [b, a]\ntenants: [{name: z}, {name: y}]\n")
    first = dump(engine)
    load_text(engine, tmp_path, "version: 1\n")
    load_text(engine, tmp_path, "version: 1\nnodes: [a, b]\ntenants: [{name: y}, {name: z}]\n")
    assert dump(engine) == first


def test_dump_is_readable_by_other_yaml_parsers(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SAMPLE_FILE.read_text(encoding="utf-8"))
    data = yaml.safe_load(dump(engine))
    assert [tenant["name"] for tenant in data["tenants"]] == ["demo", "other", "provider"]
    assert all(isinstance(flavor["name"], str) for flavor in data["flavors"])
    assert all(isinstance(price["price"], str) for price in data["prices"])


def test_small_items_are_one_line_each_without_escapes(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    lines = dump(engine).splitlines()
    assert '  - {id: "1", name: m1.tiny, vcpus: 1, ram: 512, disk: 1}' in lines
    assert '  - {kind: volume, unit: gb, node: hk-1, price: "0.0004", from: 2026-01-01T00:00:00Z}' in lines
    assert '  - {id: 1, date: 2026-03-01T08:00:00Z, title: "上线", url: "https://news.example.com/1"}' in lines


def test_language_and_pin_of_news_are_dumped_only_if_set(engine: Engine, tmp_path: Path) -> None:
    plain = '{id: 1, date: 2026-03-01T08:00:00Z, title: one, url: "https://news.example.com/"}'
    pinned = f"{plain[:-1]}, language: en, pinned: true}}".replace("id: 1", "id: 2")
    load_text(engine, tmp_path, f"version: 1\nnews:\n  - {plain}\n  - {pinned}\n")
    assert [line.strip(" -") for line in dump(engine).splitlines()[-2:]] == [plain, pinned]
    assert [(row["language"], row["pinned"]) for row in rows(engine, tables.news)] == [(None, False), ("en", True)]
    load_text(engine, tmp_path, f"version: 1\nnews:\n  - {plain}\n  - {plain.replace('id: 1', 'id: 2')}\n")
    assert [(row["language"], row["pinned"]) for row in rows(engine, tables.news)] == [(None, False)] * 2


@settings(deadline=None)
@given(st.dictionaries(texts.filter(lambda key: key != "<<"), json_values))
@example({"a": "\x85 \u2028\u2029\ufeff\ufffe\uffff\x7f\x9f\x00\U0001f600\U0001fffe"})
@example({"k" * 2000: "v" * 2000, "": "", " ": " ", "#": "a #b", "- ": "- "})
@example({"n": [Decimal("1E+2"), Decimal("-0.0"), Decimal("0E-10"), Decimal("1.50"), 10**40]})
@example({word: word for word in ("null", "~", "true", "No", "on", "1", "1.0", "1e5", ".5", "0x1F", "0o7", "017")})
@example({word: word for word in ("2026-01-01", "2026-01-01T00:00:00Z", "12:30:45", ".nan", ".inf", "=", "*a", "&a")})
@example({word: word for word in ("[", "]", "{", "}", ",", ": ", "? ", "!a", "%", "@", "`", "|", ">", "---", "...")})
def test_any_data_survives_a_round_trip_through_yaml(data: dict[str, Any]) -> None:
    document = read_document(flow(data).encode())
    assert document.problems == []
    assert exactly(as_json(document.data)) == exactly(as_json(data))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(json_values, max_size=3), json_values)
def test_any_domain_survives_a_round_trip(engine: Engine, tmp_path: Path, behaviors: list[Any], advanced: Any) -> None:
    structured = f"cacheBehaviors: {flow(behaviors)}, originConfig: {{advOriginConfigs: {flow(advanced)}}}"
    load_text(engine, tmp_path, SMALL.replace("status: Up", f"status: Up, {structured}"))
    before = rows(engine, tables.domains)
    assert not load_text(engine, tmp_path, dump(engine)).changed
    assert rows(engine, tables.domains) == before
    stored = json.loads(before[0]["cache_behaviors"], parse_float=Decimal)
    assert exactly(stored) == exactly(as_json(behaviors))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=64))
@example("null")
@example("1e5")
@example("2026-01-01")
@example(" # x: {y} ")
def test_any_stored_name_survives_a_round_trip(engine: Engine, tmp_path: Path, name: str) -> None:
    load_text(engine, tmp_path, "version: 1\ntenants:\n- name: first\n", force=True)
    with engine.begin() as connection:
        connection.execute(tables.tenants.update().values(name=name))
    assert not load_text(engine, tmp_path, dump(engine)).changed
    assert [row["name"] for row in rows(engine, tables.tenants)] == [name]


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**63 - 1), st.integers(0, 253_402_214_399))
@example(2**63 - 1, 0)
@example(1, 253_402_214_399)
def test_any_price_survives_a_round_trip(engine: Engine, tmp_path: Path, billionths: int, start: int) -> None:
    load_text(engine, tmp_path, "version: 1\n")
    with engine.begin() as connection:
        price = {"kind": "volume", "unit": "gb", "node_id": None, "start": start, "billionths": billionths}
        connection.execute(tables.prices.insert().values(price))
    assert not load_text(engine, tmp_path, dump(engine)).changed

"""Importing JSON lines: what is taken, what is passed over, what is refused, and that nothing is lost or doubled."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, update

from cloudconsole.operator import bulk_import
from cloudconsole.operator.bulk_import import MAX_LINE_BYTES, ImportCounts, RestoredDuringImport, import_resources
from cloudconsole.operator.cloud_file import CloudFileError, Problem
from cloudconsole.operator.entities import NODES, PRICES, TENANTS, EntityType
from cloudconsole.operator.maintenance.backup import restore, stage_restore, write_backup
from cloudconsole.store import tables
from tests.harness import HeldClock
from tests.operator.clouds import SMALL, assert_all_counted, by_name, rows
from tests.operator.transactions import desk_of
from tests.stores import copy_store, opened

NOW = 1_800_000_000
VOLUME: dict[str, Any] = {
    "tenant": "demo",
    "id": "v-9",
    "kind": "volume",
    "name": "more",
    "node": "hk-1",
    "size": 5,
    "started": "2026-05-01T00:00:00Z",
}


@pytest.fixture
def cloud(engine_with: Callable[[str], Engine]) -> Engine:
    """Tenant demo has an instance, 100 of its 1000 GB in one of its ten volumes, and a key pair; other has nothing."""
    return engine_with(SMALL)


def text_of(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def run(engine: Engine, content: bytes, *, zone: Any = UTC, force: bool = False) -> ImportCounts:
    """The last tally of an import to its end."""
    tally = ImportCounts()
    steps = import_resources(
        engine, io.BytesIO(content), "f.jsonl", actor="ann", clock=HeldClock(NOW), zone=zone, force=force
    )
    for step in steps:
        tally = step
    return tally


def refused(engine: Engine, content: bytes) -> list[Problem]:
    with pytest.raises(CloudFileError) as refusal:
        run(engine, content)
    return refusal.value.problems


def message(engine: Engine, **changes: Any) -> str:
    """What is said about one line that differs from a good one; None leaves a field out."""
    line = {name: value for name, value in (VOLUME | changes).items() if value is not None}
    (problem,) = refused(engine, text_of(line))
    assert problem.line == 1
    return f"{problem.path}: {problem.message}"


# What is taken


def test_a_line_becomes_a_resource(cloud: Engine) -> None:
    assert run(cloud, text_of(VOLUME)).added == 1
    row = by_name(cloud, tables.resources, "id")["v-9"]
    tenant, node = by_name(cloud, tables.tenants)["demo"]["id"], by_name(cloud, tables.nodes)["hk-1"]["id"]
    assert row == {
        "id": "v-9",
        "tenant_id": tenant,
        "kind": "volume",
        "name": "more",
        "node_id": node,
        "vcpus": 0,
        "ram_mb": 0,
        "disk_gb": 0,
        "size_gb": 5,
        "started_at": 1_777_593_600,
        "ended_at": None,
    }


def test_the_totals_move_with_it(cloud: Engine) -> None:
    instance = {"kind": "instance", "id": "i-9", "vcpus": 4, "ram": 1500, "disk": 10, "size": 0}
    later = {"id": "v-8", "started": "2030-01-01"}
    ended = {"id": "v-10", "ended": "2026-06-01"}
    keypair = {"tenant": "other", "id": "k-9", "kind": "keypair", "node": None, "size": 0}
    run(cloud, text_of(VOLUME | later, VOLUME, VOLUME | instance, VOLUME | ended, VOLUME | keypair))
    assert_all_counted(cloud)


def test_times_without_an_offset_are_in_the_operators_zone(cloud: Engine) -> None:
    run(cloud, text_of(VOLUME | {"started": "2026-05-01T08:00:00"}), zone=ZoneInfo("Asia/Shanghai"))
    assert by_name(cloud, tables.resources, "id")["v-9"]["started_at"] == 1_777_593_600


def test_empty_lines_a_byte_order_mark_and_a_missing_line_end_do_no_harm(cloud: Engine) -> None:
    content = b"\xef\xbb\xbf" + text_of(VOLUME) + b"\n  \r\n" + text_of(VOLUME | {"id": "v-10"}).rstrip()
    assert run(cloud, content).added == 2


def test_an_empty_file_is_no_mistake(cloud: Engine) -> None:
    assert run(cloud, b"") == ImportCounts()


def test_each_transaction_leaves_a_line_in_the_trail(cloud: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 2)
    run(cloud, text_of(*(VOLUME | {"id": f"v-{number}"} for number in range(10, 13))))
    lines = [row for row in rows(cloud, tables.operator_audit) if row["change"] == "import"]
    assert [(line["actor"], line["at"]) for line in lines] == [("ann", NOW)] * 2
    said = ["".join(str(line).split()) for line in lines]
    assert '"lines":[1,2],"resources":2' in said[0]
    assert '"lines":[3,3],"resources":1' in said[1]


# Going on


def test_lines_that_are_in_already_are_passed_over(cloud: Engine) -> None:
    run(cloud, text_of(VOLUME))
    before = rows(cloud, tables.operator_audit)
    tally = run(cloud, text_of(VOLUME, VOLUME))
    assert (tally.added, tally.passed) == (0, 2)
    assert_all_counted(cloud)
    assert rows(cloud, tables.operator_audit) == before


def test_one_that_is_there_but_different_is_refused(cloud: Engine) -> None:
    run(cloud, text_of(VOLUME))
    said = message(cloud, size=6, name="other")
    assert said == "id: resource v-9 already exists and differs in name, size"


def test_an_unknown_node_is_not_the_same_as_none(cloud: Engine) -> None:
    address = {"kind": "floating_ip", "node": None, "size": 0}
    run(cloud, text_of(VOLUME | address))
    said = message(cloud, **address | {"node": "mars"})
    assert said == "node: there is no such node: add it first"


def test_the_same_id_twice_in_a_file_must_say_the_same(cloud: Engine) -> None:
    problems = refused(cloud, text_of(VOLUME, VOLUME, VOLUME | {"size": 6}))
    assert [(problem.line, problem.path) for problem in problems] == [(3, "id")]
    assert by_name(cloud, tables.resources, "id")["v-9"]["size_gb"] == 5


def test_what_comes_before_a_refused_line_is_in(cloud: Engine) -> None:
    bad = VOLUME | {"id": "v-11", "size": 0}
    good = [VOLUME | {"id": f"v-{number}"} for number in (9, 10, 12)]
    assert [problem.line for problem in refused(cloud, text_of(*good[:2], bad, good[2]))] == [3]
    assert {"v-9", "v-10"} == set(by_name(cloud, tables.resources, "id")) & {"v-9", "v-10", "v-11", "v-12"}
    assert_all_counted(cloud)


def test_a_mended_file_goes_on_where_it_stopped(cloud: Engine) -> None:
    lines = [VOLUME | {"id": f"v-{number}"} for number in (9, 10, 11)]
    refused(cloud, text_of(*lines[:2]) + b"{nonsense\n")
    tally = run(cloud, text_of(*lines))
    assert (tally.added, tally.passed) == (1, 2)
    assert_all_counted(cloud)


def test_an_import_that_is_left_in_the_middle_goes_on(cloud: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 2)
    content = text_of(*(VOLUME | {"id": f"v-{number}", "size": 1} for number in range(10, 17)))
    source = io.BytesIO(content)
    steps = import_resources(cloud, source, "f.jsonl", actor="ann", clock=HeldClock(NOW), zone=UTC)
    assert next(iter(steps)).added == 2
    tally = run(cloud, content)
    assert (tally.added, tally.passed) == (5, 2)
    assert_all_counted(cloud)


# A restore meanwhile


def steps_of(engine: Engine, content: bytes) -> Iterator[ImportCounts]:
    return import_resources(
        engine, io.BytesIO(content), "f.jsonl", actor="ann", clock=HeldClock(NOW), zone=UTC, force=True
    )


def bring_back(file: Path, folder: Path) -> None:
    with stage_restore(file, folder) as backup:
        restore(backup, folder, actor="bob", now=NOW, zone=UTC)


@pytest.mark.embedded_only
def test_imports_notice_that_the_store_was_restored(
    cloud: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 2)
    data, file = tmp_path / "data", tmp_path / "b.tar"
    contents = [text_of(*(VOLUME | {"id": f"{name}-{number}"} for number in range(6))) for name in "ab"]
    # What is there already leaves no line of its own in the trail.
    there = text_of(*(VOLUME | {"id": f"c-{number}"} for number in range(6)))
    run(cloud, there[: len(there) // 2], force=True)
    write_backup(data, file, now=NOW)
    imports = [steps_of(cloud, content) for content in (*contents, there)]
    for steps in imports:
        next(steps)
    bring_back(file, data)
    for steps in imports:
        with pytest.raises(
            RestoredDuringImport, match=r"was restored during the import, .* run the same command again"
        ):
            next(steps)
    assert not {"a-2", "b-2"} & set(by_name(cloud, tables.resources, "id"))
    assert [run(cloud, content, force=True).added for content in contents] == [6, 6]
    assert_all_counted(cloud)


@pytest.mark.embedded_only
def test_a_restore_of_another_stores_longer_trail_is_noticed(
    cloud: Engine, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 1)
    other, file = copy_store(empty_store, tmp_path / "other"), tmp_path / "b.tar"
    with opened(other, "cloud") as engine:
        for number in range(20):
            with desk_of(engine) as desk:
                NODES.add(desk, {"name": f"n-{number}"})
    write_backup(other, file, now=NOW)
    steps = steps_of(cloud, text_of(VOLUME, VOLUME | {"id": "v-10"}))
    next(steps)
    bring_back(file, tmp_path / "data")
    with pytest.raises(RestoredDuringImport):
        next(steps)


@pytest.mark.embedded_only
def test_an_earlier_restore_and_another_import_stop_nothing(
    cloud: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 1)
    write_backup(tmp_path / "data", tmp_path / "b.tar", now=NOW)
    bring_back(tmp_path / "b.tar", tmp_path / "data")
    one, two = (steps_of(cloud, text_of(*(VOLUME | {"id": f"{name}-{n}"} for n in range(3)))) for name in "ab")
    assert [(first.added, second.added) for first, second in zip(one, two, strict=True)] == [(1, 1), (2, 2), (3, 3)]


# What is refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes at character 2"),
        (b"[]", 'must be an object, such as {"tenant": "demo", "id": "v-1", ...}'),
        (b"null", 'must be an object, such as {"tenant": "demo", "id": "v-1", ...}'),
        (b'{"id": "\xff"}', "is not UTF-8 text"),
        (b'{"id": "a", "id": "b"}', "id: appears twice"),
        (b'{"size": NaN}', "contains NaN, which is not valid JSON"),
        (b'{"size": ' + b"9" * 5000 + b"}", "has a number that is too large"),
        (b"[" * 30_000, "is nested too deeply"),
        (b" " * MAX_LINE_BYTES + b"{}", f"is longer than {MAX_LINE_BYTES} bytes: put each resource on its own line"),
    ],
)
def test_what_is_no_line_of_ours_is_refused(cloud: Engine, content: bytes, said: str) -> None:
    before = rows(cloud, tables.resources)
    assert refused(cloud, content) == [Problem(1, "", said)]
    assert rows(cloud, tables.resources) == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tenant": "nobody"}, "tenant: there is no such tenant: add it first"),
        ({"tenant": None}, "tenant: is missing"),
        ({"node": "mars"}, "node: there is no such node: add it first"),
        ({"node": None}, "node: a volume must be on a node"),
        ({"id": ""}, "id: must not be empty"),
        ({"id": "\ud800"}, "id: contains half of a surrogate pair: write the character itself"),
        ({"kind": "ship"}, "kind: must be 'instance', 'image', 'loadbalance', 'volume', 'snapshot', "),
        ({"size": 0}, "size: must be from 1 to 2147483647"),
        ({"size": 1.5}, "size: must be a whole number"),
        ({"size": "5"}, "size: must be a whole number"),
        ({"vcpus": 1}, "vcpus: does not apply to the kind volume"),
        ({"colour": "red"}, "colour: is unknown: check the spelling or remove it"),
        ({"started": 5}, "started: must be a time, such as 2026-01-31T08:00:00Z"),
        (
            {"started": "2025-12-31"},
            "started: volume has no price on this node at 2025-12-31T00:00:00Z, when it starts: add one first",
        ),
        ({"ended": "2026-04-30"}, "ended: must not be before its start, 2026-05-01T00:00:00Z"),
    ],
)
def test_a_field_that_does_not_fit_is_refused(cloud: Engine, changes: dict[str, Any], said: str) -> None:
    before = rows(cloud, tables.resources)
    assert message(cloud, **changes).startswith(said)
    assert rows(cloud, tables.resources) == before


def test_every_problem_of_the_line_is_told(cloud: Engine) -> None:
    problems = refused(cloud, text_of(VOLUME, VOLUME | {"id": 5, "name": ""}))
    assert [(problem.line, problem.path) for problem in problems] == [(2, "id"), (2, "name")]


def test_a_faulty_field_hides_no_other_problem_of_the_line(cloud: Engine) -> None:
    with desk_of(cloud, force=True) as desk:
        NODES.disable(desk, "hk-2")
    line = {"tenant": "nobody", "id": 5, "vcpus": 1, "size": 0, "node": "hk-2", "colour": "red"}
    times = {"started": "2025-02-01", "ended": "2025-01-01"}
    assert [problem.path for problem in refused(cloud, text_of(VOLUME | line | times))] == [
        "colour", "ended", "id", "node", "size", "started", "tenant", "vcpus",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"node": "mars", "size": 0, "vcpus": 2}, ["node", "size", "vcpus"]),
        ({"node": 7, "size": 0}, ["node", "size"]),
        ({"tenant": 7, "node": "mars"}, ["node", "tenant"]),
        ({"kind": "ship", "size": -5, "node": "mars"}, ["kind", "node"]),
        ({"size": "much", "started": "2020-01-01"}, ["size", "started"]),
        ({"started": "soon", "size": 5000}, ["", "started"]),
        ({"name": " ", "size": 5000}, ["", "name"]),
        ({"id": "v-1", "name": "", "size": 0}, ["id", "name", "size"]),
        ({"id": "v-1", "name": "", "node": "mars"}, ["id", "name", "node"]),
    ],
)
def test_all_that_can_be_told_is_told_and_nothing_else(
    cloud: Engine, changes: dict[str, Any], paths: list[str]
) -> None:
    assert [problem.path for problem in refused(cloud, text_of(VOLUME | changes))] == paths


def test_a_price_of_a_type_is_for_no_line(cloud: Engine) -> None:
    with desk_of(cloud) as desk:
        PRICES.add(desk, {"kind": "volume", "unit": "gb", "type": "ssd", "price": "1", "from": "2025-01-01"})
    assert message(cloud, started="2025-06-01").startswith("started: volume has no price on this node")


def test_a_size_that_is_needed_is_asked_for(cloud: Engine) -> None:
    assert message(cloud, size=None) == "size: is required for a volume: from 1 to 2147483647"


# Quotas


def test_a_resource_over_quota_is_refused_with_the_figures(cloud: Engine) -> None:
    assert message(cloud, size=901) == (
        ": over quota (gigabytes: 100 of 1000 in use, 901 more requested): raise the quota of demo, or pass --force"
    )


def test_a_resource_that_just_fits_is_taken(cloud: Engine) -> None:
    assert run(cloud, text_of(VOLUME | {"size": 900})).added == 1


def test_lines_of_one_batch_count_together(cloud: Engine) -> None:
    lines = [VOLUME | {"id": f"v-{number}", "size": 1} for number in range(10, 20)]
    (problem,) = refused(cloud, text_of(*lines))
    assert (problem.line, problem.message.partition(",")[0]) == (10, "over quota (volumes: 10 of 10 in use")
    assert by_name(cloud, tables.resources, "id").keys() >= {f"v-{number}" for number in range(10, 19)}


def test_snapshots_take_gigabytes_too(cloud: Engine) -> None:
    said = message(cloud, kind="snapshot", size=901)
    assert said.startswith(": over quota (gigabytes: 100 of 1000 in use, 901 more requested)")


def test_what_has_ended_takes_nothing(cloud: Engine) -> None:
    assert run(cloud, text_of(VOLUME | {"size": 5000, "ended": "2026-06-01"})).added == 1


def test_what_is_still_to_end_counts(cloud: Engine) -> None:
    run(cloud, text_of(VOLUME | {"size": 900, "ended": "2030-01-01"}))
    assert message(cloud, id="v-10", size=1).startswith(
        ": over quota (gigabytes: 1000 of 1000 in use, 1 more requested)"
    )


def test_an_unlimited_quota_refuses_nothing(cloud: Engine) -> None:
    with cloud.begin() as connection:
        connection.execute(update(tables.quotas).values(gigabytes=-1))
    assert run(cloud, text_of(VOLUME | {"size": 100_000})).added == 1


def test_a_tenant_without_quotas_of_its_own_has_the_defaults(cloud: Engine) -> None:
    with cloud.begin() as connection:
        connection.execute(tables.quotas.delete())
    assert message(cloud, tenant="other", size=1001).startswith(
        ": over quota (gigabytes: 0 of 1000 in use, 1001 more requested)"
    )


def test_force_lets_a_tenant_exceed_its_quota(cloud: Engine) -> None:
    assert run(cloud, text_of(VOLUME | {"size": 5000}), force=True).added == 1
    assert_all_counted(cloud)
    assert rows(cloud, tables.operator_audit)[-1]["change"] == "import (forced)"


@pytest.mark.parametrize(("noun", "field", "name"), [(TENANTS, "tenant", "demo"), (NODES, "node", "hk-1")])
def test_a_disabled_tenant_or_node_takes_no_new_ones(cloud: Engine, noun: EntityType, field: str, name: str) -> None:
    run(cloud, text_of(VOLUME))
    with desk_of(cloud, force=True) as desk:
        noun.disable(desk, name)
    assert run(cloud, text_of(VOLUME), force=True).passed == 1
    assert message(cloud, id="v-10") == f"{field}: the {field} {name} is disabled and accepts no new resources"

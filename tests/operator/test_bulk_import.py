"""Import of JSON lines: validation, skipped lines, quotas, interruptions and restores."""

import io
import json
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from cloudconsole.operator import bulk_import
from cloudconsole.operator.bulk_import import MAX_LINE_BYTES, ImportCounts, RestoredDuringImport, import_resources
from cloudconsole.operator.cloud_file import CloudFileError, FileProblem
from cloudconsole.operator.entities import NODES, PRICES, RESOURCES, TENANTS, EntityType
from cloudconsole.operator.maintenance.backup import restore, stage_restore, write_backup
from cloudconsole.store import tables
from tests.harness import FakeClock
from tests.operator.clouds import assert_counters_correct, by_name, rows
from tests.operator.transactions import transaction
from tests.stores import copy_store, opened

NOW = 1_800_000_000
VOLUME: dict[str, Any] = {"tenant": "demo", "id": "v-9", "kind": "volume", "name": "more", "node": "hk-1", "size": 5}
VOLUME["started"] = "2026-05-01T00:00:00Z"


def json_lines(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def import_steps(engine: Engine, content: bytes, **options: Any) -> Iterator[ImportCounts]:
    defaults: dict[str, Any] = {"actor": "ann", "clock": FakeClock(NOW), "zone": UTC, "force": True}
    return import_resources(engine, io.BytesIO(content), "f.jsonl", **defaults | options)


def run_import(engine: Engine, content: bytes, *, force: bool = False, **options: Any) -> ImportCounts:
    """Run an import to its end; return the final counts."""
    return [ImportCounts(), *import_steps(engine, content, force=force, **options)][-1]


def import_problems(engine: Engine, content: bytes) -> list[FileProblem]:
    with pytest.raises(CloudFileError) as error:
        run_import(engine, content)
    return error.value.problems


def line_problem(engine: Engine, **changes: Any) -> str:
    """Return the problem of a valid line with these changes; None omits a field."""
    line = {name: value for name, value in (VOLUME | changes).items() if value is not None}
    (problem,) = import_problems(engine, json_lines(line))
    assert problem.line == 1
    return f"{problem.path}: {problem.message}"


# Accepted lines


def test_a_line_becomes_a_resource(small: Engine) -> None:
    assert run_import(small, json_lines(VOLUME)).added == 1
    with transaction(small) as tx:
        assert RESOURCES.show(tx, "v-9") == VOLUME


def test_counters_are_updated(small: Engine) -> None:
    instance = {"kind": "instance", "id": "i-9", "vcpus": 4, "ram": 1500, "disk": 10, "size": 0}
    later = {"id": "v-8", "started": "2030-01-01"}
    ended = {"id": "v-10", "ended": "2026-06-01"}
    keypair = {"tenant": "other", "id": "k-9", "kind": "keypair", "node": None, "size": 0}
    run_import(small, json_lines(VOLUME | later, VOLUME, VOLUME | instance, VOLUME | ended, VOLUME | keypair))
    assert_counters_correct(small)


def test_times_without_an_offset_are_in_the_operators_zone(small: Engine) -> None:
    run_import(small, json_lines(VOLUME | {"started": "2026-05-01T08:00:00"}), zone=ZoneInfo("Asia/Shanghai"))
    assert by_name(small, tables.resources, "id")["v-9"]["started_at"] == 1_777_593_600


def test_blank_lines_bom_and_missing_final_newline_are_accepted(small: Engine) -> None:
    content = b"\xef\xbb\xbf" + json_lines(VOLUME) + b"\n  \r\n" + json_lines(VOLUME | {"id": "v-10"}).rstrip()
    assert run_import(small, content).added == 2
    assert run_import(small, b"") == ImportCounts()


def test_each_transaction_has_an_audit_entry(small: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 2)
    content = json_lines(*(VOLUME | {"id": f"v-{number}"} for number in range(10, 13)))
    assert [counts.added for counts in import_steps(small, content, force=False)] == [2, 3]
    entries = [row for row in rows(small, tables.operator_audit) if row["change"] == "import"]
    assert [(entry["actor"], entry["at"]) for entry in entries] == [("ann", NOW)] * 2
    texts = ["".join(str(entry).split()) for entry in entries]
    assert '"lines":[1,2],"resources":2' in texts[0]
    assert '"lines":[3,3],"resources":1' in texts[1]


# Repeated and resumed imports


def test_existing_resources_are_skipped(small: Engine) -> None:
    run_import(small, json_lines(VOLUME))
    before = rows(small, tables.operator_audit)
    counts = run_import(small, json_lines(VOLUME, VOLUME))
    assert (counts.added, counts.passed) == (0, 2)
    assert_counters_correct(small)
    assert rows(small, tables.operator_audit) == before


def test_existing_resource_that_differs_is_rejected(small: Engine) -> None:
    run_import(small, json_lines(VOLUME))
    problem = "id: resource v-9 already exists and differs in name, size"
    assert line_problem(small, size=6, name="other") == problem


def test_unknown_node_is_not_treated_as_no_node(small: Engine) -> None:
    address = {"kind": "floating_ip", "node": None, "size": 0}
    run_import(small, json_lines(VOLUME | address))
    message = line_problem(small, **address | {"node": "mars"})
    assert message == "node: there is no such node: add it first"


def test_repeated_id_with_different_values_is_rejected(small: Engine) -> None:
    problems = import_problems(small, json_lines(VOLUME, VOLUME, VOLUME | {"size": 6}))
    assert [(problem.line, problem.path) for problem in problems] == [(3, "id")]
    assert by_name(small, tables.resources, "id")["v-9"]["size_gb"] == 5


@pytest.mark.parametrize("bad", [json_lines(VOLUME | {"id": "v-11", "size": 0}), b"{nonsense\n"])
def test_lines_before_an_invalid_one_are_imported_and_then_skipped(small: Engine, bad: bytes) -> None:
    lines = [VOLUME | {"id": f"v-{number}"} for number in (9, 10, 12)]
    problems = import_problems(small, json_lines(*lines[:2]) + bad + json_lines(lines[2]))
    assert [problem.line for problem in problems] == [3]
    assert {"v-9", "v-10"} == set(by_name(small, tables.resources, "id")) & {"v-9", "v-10", "v-11", "v-12"}
    assert_counters_correct(small)
    counts = run_import(small, json_lines(*lines))
    assert (counts.added, counts.passed) == (1, 2)


# Restores during an import


def restore_backup(file: Path, directory: Path) -> None:
    with stage_restore(file, directory) as backup:
        restore(backup, directory, actor="bob", now=NOW, zone=UTC)


@pytest.mark.embedded_only
def test_restore_aborts_running_imports(small: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 2)
    data, file = tmp_path / "data", tmp_path / "b.tar"
    contents = [json_lines(*(VOLUME | {"id": f"{name}-{number}"} for number in range(6))) for name in "ab"]
    # Skipped lines leave no audit entry.
    existing = json_lines(*(VOLUME | {"id": f"c-{number}"} for number in range(6)))
    run_import(small, existing[: len(existing) // 2], force=True)
    write_backup(data, file, now=NOW)
    imports = [import_steps(small, content) for content in (*contents, existing)]
    for steps in imports:
        next(steps)
    restore_backup(file, data)
    for steps in imports:
        with pytest.raises(RestoredDuringImport, match=r"restored during the import, .* run the same command again"):
            next(steps)
    assert not {"a-2", "b-2"} & set(by_name(small, tables.resources, "id"))
    assert [run_import(small, content, force=True).added for content in contents] == [6, 6]
    assert_counters_correct(small)


@pytest.mark.embedded_only
def test_restore_of_a_store_with_a_longer_audit_log_is_detected(
    small: Engine, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 1)
    other, file = copy_store(empty_store, tmp_path / "other"), tmp_path / "b.tar"
    with opened(other, "cloud") as engine:
        for number in range(20):
            with transaction(engine) as tx:
                NODES.add(tx, {"name": f"n-{number}"})
    write_backup(other, file, now=NOW)
    steps = import_steps(small, json_lines(VOLUME, VOLUME | {"id": "v-10"}))
    next(steps)
    restore_backup(file, tmp_path / "data")
    with pytest.raises(RestoredDuringImport):
        next(steps)


@pytest.mark.embedded_only
def test_earlier_restore_does_not_abort(small: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 1)
    write_backup(tmp_path / "data", tmp_path / "b.tar", now=NOW)
    restore_backup(tmp_path / "b.tar", tmp_path / "data")
    one, two = (import_steps(small, json_lines(*(VOLUME | {"id": f"{name}-{n}"} for n in range(3)))) for name in "ab")
    assert [(first.added, second.added) for first, second in zip(one, two, strict=True)] == [(1, 1), (2, 2), (3, 3)]


# Invalid lines

TIMES = {"started": "2025-02-01", "ended": "2025-01-01"}
MANY_PROBLEMS = {"tenant": "nobody", "id": 5, "vcpus": 1, "size": 0, "colour": "red", **TIMES}


@pytest.mark.parametrize(
    ("content", "message"),
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
def test_unparsable_line_is_rejected(small: Engine, content: bytes, message: str) -> None:
    before = rows(small, tables.resources)
    assert import_problems(small, content) == [FileProblem(1, "", message)]
    assert rows(small, tables.resources) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tenant": "nobody"}, "tenant: there is no such tenant: add it first"),
        ({"tenant": None}, "tenant: is missing"),
        ({"node": "mars"}, "node: there is no such node: add it first"),
        ({"id": "\ud800"}, "id: contains half of a surrogate pair: write the character itself"),
        ({"size": 0}, "size: must be from 1 to 2147483647"),
        ({"size": 1.5}, "size: must be a whole number"),
        ({"size": None}, "size: is required for a volume: from 1 to 2147483647"),
        (
            {"started": "2025-12-31"},
            "started: volume has no price on this node at 2025-12-31T00:00:00Z, when it starts",
        ),
    ],
)
def test_invalid_field_is_rejected(small: Engine, changes: dict[str, Any], message: str) -> None:
    before = rows(small, tables.resources)
    assert line_problem(small, **changes).startswith(message)
    assert rows(small, tables.resources) == before


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"node": "mars", "size": 0, "vcpus": 2}, ["node", "size", "vcpus"]),
        ({"node": 7, "size": 0}, ["node", "size"]),
        (MANY_PROBLEMS, sorted(MANY_PROBLEMS)),
        ({"tenant": 7, "node": "mars"}, ["node", "tenant"]),
        ({"kind": "ship", "size": -5, "node": "mars"}, ["kind", "node"]),
        ({"size": "much", "started": "2020-01-01"}, ["size", "started"]),
        ({"started": "soon", "size": 5000}, ["", "started"]),
        ({"name": " ", "size": 5000}, ["", "name"]),
        ({"id": "v-1", "name": "", "size": 0}, ["id", "name", "size"]),
        ({"id": "v-1", "name": "", "node": "mars"}, ["id", "name", "node"]),
    ],
)
def test_only_the_actual_problems_are_reported(small: Engine, changes: dict[str, Any], paths: list[str]) -> None:
    assert [problem.path for problem in import_problems(small, json_lines(VOLUME | changes))] == paths


def test_dry_run_reports_several_invalid_lines(small: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_import, "LINES_PER_TRANSACTION", 2)
    lines = [VOLUME | {"id": f"v-{number}", "size": number % 2} for number in range(10, 20)]
    with pytest.raises(CloudFileError) as error:
        run_import(small, b"{\n" + json_lines(*lines), max_invalid_lines=3)
    assert [problem.line for problem in error.value.problems] == [1, 2, 4]
    assert {"v-11"} == set(by_name(small, tables.resources, "id")) & {"v-11", "v-13"}


def test_type_price_does_not_apply_to_imported_lines(small: Engine) -> None:
    with transaction(small) as tx:
        PRICES.add(tx, {"kind": "volume", "unit": "gb", "type": "ssd", "price": "1", "from": "2025-01-01"})
    assert line_problem(small, started="2025-06-01").startswith("started: volume has no price on this node")


# Quotas

OVER_QUOTA = ": over quota (gigabytes: {} of 1000 in use, {} more requested)"


def test_resource_over_quota_is_rejected_with_the_numbers(small: Engine) -> None:
    advice = ": raise the quota of demo, or pass --force"
    assert line_problem(small, size=901) == OVER_QUOTA.format(100, 901) + advice
    assert run_import(small, json_lines(VOLUME | {"size": 900})).added == 1


def test_lines_of_a_batch_share_the_quota(small: Engine) -> None:
    lines = [VOLUME | {"id": f"v-{number}", "size": 1} for number in range(10, 20)]
    (problem,) = import_problems(small, json_lines(*lines))
    assert (problem.line, problem.message.partition(",")[0]) == (10, "over quota (volumes: 10 of 10 in use")
    assert by_name(small, tables.resources, "id").keys() >= {f"v-{number}" for number in range(10, 19)}


def test_ended_resources_do_not_count_but_those_with_a_future_end_do(small: Engine) -> None:
    ended = VOLUME | {"size": 5000, "ended": "2026-06-01"}
    ending = VOLUME | {"id": "v-10", "size": 900, "ended": "2030-01-01"}
    assert run_import(small, json_lines(ended, ending)).added == 2
    assert line_problem(small, id="v-11", size=1).startswith(OVER_QUOTA.format(1000, 1))


def test_tenant_without_quotas_has_the_defaults(small: Engine) -> None:
    with small.begin() as connection:
        connection.execute(tables.quotas.delete())
    assert line_problem(small, tenant="other", size=1001).startswith(OVER_QUOTA.format(0, 1001))


def test_force_lets_a_tenant_exceed_its_quota(small: Engine) -> None:
    assert run_import(small, json_lines(VOLUME | {"size": 5000}), force=True).added == 1
    assert_counters_correct(small)
    assert rows(small, tables.operator_audit)[-1]["change"] == "import (forced)"


@pytest.mark.parametrize(("entity", "field", "name"), [(TENANTS, "tenant", "demo"), (NODES, "node", "hk-1")])
def test_disabled_entity_accepts_no_new_resources(small: Engine, entity: EntityType, field: str, name: str) -> None:
    run_import(small, json_lines(VOLUME))
    with transaction(small, force=True) as tx:
        entity.disable(tx, name)
    assert run_import(small, json_lines(VOLUME), force=True).passed == 1
    assert line_problem(small, id="v-10") == f"{field}: the {field} {name} is disabled and accepts no new resources"

"""JSON-lines import of resources."""

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn

from pydantic import ValidationError
from sqlalchemy import Engine, Table, select

from cloudconsole.core.clock import Clock
from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator.audit import newest_entry, record_change, restored_since
from cloudconsole.operator.entities.prices import price_starts
from cloudconsole.operator.entity_models import Resource, resource_errors
from cloudconsole.operator.errors import (
    CloudFileError,
    FieldError,
    FileProblem,
    OperatorError,
    error_message,
    error_path,
    format_path,
)
from cloudconsole.operator.fields import Reference
from cloudconsole.operator.invalid_placeholder import INVALID, validate_with_placeholders
from cloudconsole.operator.messages import Message, Term
from cloudconsole.operator.new_and_existing_names import StoredNames
from cloudconsole.operator.quota_check import QuotaHeadroom, over_quota_message
from cloudconsole.operator.resource_and_price_rules import SIZES, Starts, disabled_error, unpriced_problem
from cloudconsole.operator.rows_and_records import Row, resource_row
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.store import counters, tables
from cloudconsole.store.billing.resources import record_added
from cloudconsole.store.sql import in_values, insert_rows
from cloudconsole.store.tables import resources

MAX_LINE_BYTES: Final = 65_536
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class ResourceLine(Resource):
    """A resource as in a cloud file, plus its tenant."""

    tenant: Reference


class Line(NamedTuple):
    number: int
    resource: ResourceLine
    errors: tuple[FieldError, ...] = ()
    """Errors of single fields, whose values are `INVALID`."""


class Batch(NamedTuple):
    lines: list[Line]
    problems: list[FileProblem]
    """Problems of lines that cannot be parsed."""
    position: int
    """Bytes read so far."""


class UnreadableInput(Exception):
    """A line that cannot be parsed."""

    def __init__(self, problems: list[FileProblem]) -> None:
        super().__init__()
        self.problems = problems


def read_batches(
    source: BinaryIO, zone: tzinfo, size: int, existing_names: Container[str] = (), *, stops: bool = True
) -> Iterator[Batch]:
    """Yield the lines in order, skipping empty ones. With `stops`, the first invalid line is the last."""
    context = {"zone": zone, "existing_names": existing_names}
    number = position = 0
    lines: list[Line] = []
    problems: list[FileProblem] = []
    while content := source.readline(MAX_LINE_BYTES + 1):
        number, position = number + 1, position + len(content)
        try:
            data = _read(content.removeprefix(_BYTE_ORDER_MARK) if number == 1 else content, number)
            if data is not None:
                lines.append(_line(data, number, context))
        except UnreadableInput as error:
            problems += error.problems
        if stops and (problems or (lines and lines[-1].errors)):
            break
        if len(lines) + len(problems) >= size:
            yield Batch(lines, problems, position)
            lines, problems = [], []
    if lines or problems:
        yield Batch(lines, problems, position)


_TOO_LONG: Final = Message(
    "is longer than {limit} bytes: put each resource on its own line",
    "超过 {limit} 字节：请每行只写一项资源",
    limit=MAX_LINE_BYTES,
)


def _read(content: bytes, number: int) -> dict[str, Any] | None:
    if len(content) > MAX_LINE_BYTES:
        raise UnreadableInput([FileProblem(number, "", _TOO_LONG)])
    try:
        text = content.decode()
        if not text.strip():
            return None
        data = _DECODER.decode(text)
    except UnicodeDecodeError:
        message = Message("is not UTF-8 text", "不是 UTF-8 文本")
    except json.JSONDecodeError as error:
        message = Message(
            "is not JSON: {problem} at character {position}",
            "不是 JSON：第 {position} 个字符处：{problem}",
            problem=error.msg,
            position=error.pos + 1,
        )
    except RecursionError:
        message = Message("is nested too deeply", "嵌套过深")
    except ValueError as error:
        message = (
            error.args[0] if isinstance(error, _InvalidJson) else Message("has a number that is too large", "数字过大")
        )
    else:
        if isinstance(data, dict):
            return data
        example = '{"tenant": "demo", "id": "v-1", ...}'
        message = Message("must be an object, such as {example}", "必须是对象，例如 {example}", example=example)
    raise UnreadableInput([FileProblem(number, "", message)])


class _InvalidJson(ValueError):
    """JSON that is rejected for the reason in the message."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise _InvalidJson(Message("{key}: appears twice", "{key}：重复出现", key=format_path((repeated,))))
    return data


def _reject_constant(word: str) -> NoReturn:
    raise _InvalidJson(Message("contains {word}, which is not valid JSON", "包含 {word}，不是有效的 JSON", word=word))


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_reject_constant)


def _line(data: dict[str, Any], number: int, context: dict[str, Any]) -> Line:
    try:
        return Line(number, ResourceLine.model_validate(data, context=context))
    except ValidationError as error:
        details = error.errors(include_url=False)
    resource = ResourceLine.model_validate(validate_with_placeholders(data, details), context=context)
    return Line(number, resource, tuple((error_path(detail), error_message(detail)) for detail in details))


_UNKNOWN: Final = -1
_FIELDS: Final = {column: name for name, column in SIZES.items()} | {
    "tenant_id": "tenant",
    "node_id": "node",
    "started_at": "started",
    "ended_at": "ended",
}
"""Field names by column name, where they differ."""
_QUOTA_COLUMNS: Final = ("kind", *SIZES.values(), "ended_at")
"""Columns that determine the use of quotas."""


@dataclass
class Checked:
    """The outcome for a batch: rows to add, the number of lines already in the store, and the problems."""

    rows: dict[str, Row] = field(default_factory=dict)
    passed: int = 0
    problems: list[FileProblem] = field(default_factory=list)


class _View(NamedTuple):
    """The part of the store that a batch refers to."""

    tenants: dict[str, Row]
    nodes: dict[str, Row]
    prices: dict[str, Starts]
    resources: dict[str, Row]
    headroom: QuotaHeadroom | None


def check_batch(tx: OperatorTransaction, lines: list[Line], *, stops: bool = True) -> Checked:
    """Check lines in order; with `stops`, up to the first invalid one."""
    view = _view(tx, lines)
    checked = Checked()
    for number, resource, field_errors in lines:
        row = _row(view, resource)
        known = view.resources.get(resource.id) or checked.rows.get(resource.id)
        if known is not None and known == row and not field_errors:
            checked.passed += 1
            continue
        errors = [*field_errors, *_errors(view, resource, row, known)]
        if errors:
            checked.problems += [FileProblem(number, format_path(path), message) for path, message in errors]
            if stops:
                break
            continue
        checked.rows[resource.id] = row
    return checked


def _view(tx: OperatorTransaction, lines: list[Line]) -> _View:
    tenants = _named(tx, tables.tenants, {line.resource.tenant for line in lines} - {INVALID})
    ids = {line.resource.id for line in lines} - {INVALID}
    known = in_values(tx.connection, tables.resources.c.id, ids)
    stored = tx.connection.execute(select(tables.resources).where(known)).mappings()
    return _View(
        tenants,
        _named(tx, tables.nodes),
        {kind: price_starts(tx, kind) for kind in PRICED_UNITS},
        {row["id"]: dict(row) for row in stored},
        None if tx.force else QuotaHeadroom(tx, [tenant["id"] for tenant in tenants.values()]),
    )


def _named(tx: OperatorTransaction, table: Table, names: set[str] | None = None) -> dict[str, Row]:
    query = select(table) if names is None else select(table).where(in_values(tx.connection, table.c.name, names))
    return {row["name"]: dict(row) for row in tx.connection.execute(query).mappings()}


def _row(view: _View, resource: ResourceLine) -> Row:
    """Return the resource as a row; an unknown tenant or node is `_UNKNOWN`, which equals no stored id."""
    tenant_id, node_id = _id(view.tenants, resource.tenant), None
    if resource.node is not None:
        node_id = _id(view.nodes, resource.node)
    return resource_row(resource, tenant_id, node_id)


def _id(rows: dict[str, Row], name: str) -> int:
    return int(rows[name]["id"]) if name in rows else _UNKNOWN


def _errors(view: _View, resource: ResourceLine, row: Row, known: Row | None) -> Iterator[FieldError]:
    for thing, name, column in (("tenant", resource.tenant, "tenant_id"), ("node", resource.node, "node_id")):
        if name is not INVALID and row[column] == _UNKNOWN:
            yield (
                (thing,),
                Message(
                    "there is no such {thing}: add it first", "该{thing}不存在，请先添加", thing=Term("entity", thing)
                ),
            )
    yield from resource_errors(resource)
    if known is None:
        yield from _new_resource_errors(view, resource, row)
    elif different := [_FIELDS.get(name, name) for name in row if _differ(row[name], known[name])]:
        yield (
            ("id",),
            Message(
                "resource {id} already exists and differs in {fields}",
                "资源 {id} 已存在，但以下字段不同：{fields}",
                id=resource.id,
                fields=", ".join(different),
            ),
        )


def _differ(value: Any, known: Any) -> bool:
    """Return whether two values certainly differ; an invalid one has been reported already."""
    return value is not INVALID and value not in (known, _UNKNOWN)


def _new_resource_errors(view: _View, resource: ResourceLine, row: Row) -> Iterator[FieldError]:
    references = (("tenant", view.tenants, resource.tenant), ("node", view.nodes, resource.node))
    for thing, known, name in references:
        if name in known and known[name]["disabled"]:
            yield (thing,), disabled_error(thing, name)
    if INVALID not in (row["kind"], row["started_at"]) and row["node_id"] not in (None, _UNKNOWN):
        starts = view.prices.get(resource.kind, {})
        problem = unpriced_problem(resource.kind, row["node_id"], resource.started, starts)
        if problem is not None:
            yield ("started",), problem
    if (
        view.headroom is not None
        and row["tenant_id"] != _UNKNOWN
        and not any(row[name] is INVALID for name in _QUOTA_COLUMNS)
    ):
        over = view.headroom.take(row)
        if over:
            yield (
                (),
                Message(
                    "{problem}: raise the quota of {tenant}, or pass --force",
                    "{problem}：请提高 {tenant} 的配额，或加 --force",
                    problem=over_quota_message(over),
                    tenant=resource.tenant,
                ),
            )


LINES_PER_TRANSACTION: Final = 1_000
"""Some tenths of a second of work, so that other writers, such as logins, do not wait long."""


class ImportCounts(NamedTuple):
    """Progress of an import: what it counts is committed."""

    added: int = 0
    passed: int = 0
    """Lines that were already in the store."""
    position: int = 0
    """Bytes read."""

    @property
    def lines(self) -> int:
        return self.added + self.passed


class RestoredDuringImport(OperatorError):
    """The store was restored between two transactions, which may have undone earlier ones."""

    def __init__(self) -> None:
        super().__init__(
            Message(
                "the store was restored during the import, and imported lines may be gone: run the same command again",
                "导入期间数据存储被恢复为备份，已导入的行可能丢失：请再次执行同一命令",
            )
        )


def import_resources(
    engine: Engine,
    source: BinaryIO,
    name: str,
    *,
    actor: str,
    clock: Clock,
    zone: tzinfo,
    force: bool = False,
    max_invalid_lines: int = 1,
) -> Iterator[ImportCounts]:
    """Yield the counts after each transaction; raise `CloudFileError` for an invalid line after adding those before it.

    A dry run passes a larger `max_invalid_lines`: the import continues until it has found that many, adding all others.
    """
    tally = ImportCounts()
    seen: int | None = None
    stops = max_invalid_lines == 1
    problems: list[FileProblem] = []
    for batch in read_batches(source, zone, LINES_PER_TRANSACTION, StoredNames(engine), stops=stops):
        with operator_transaction(engine, actor=actor, now=int(clock.now()), zone=zone, force=force) as tx:
            if seen is not None and restored_since(tx.connection, seen):
                raise RestoredDuringImport
            checked = check_batch(tx, batch.lines, stops=stops)
            _write(tx, name, batch, checked)
            seen = newest_entry(tx.connection)
        tally = ImportCounts(tally.added + len(checked.rows), tally.passed + checked.passed, batch.position)
        yield tally
        problems += checked.problems + batch.problems
        if len({problem.line for problem in problems}) >= max_invalid_lines:
            break
    if problems:
        listed = sorted({problem.line for problem in problems})[:max_invalid_lines]
        raise CloudFileError(name, [problem for problem in problems if problem.line in listed])


def _write(tx: OperatorTransaction, name: str, batch: Batch, checked: Checked) -> None:
    if not checked.rows:
        return
    rows = list(checked.rows.values())
    insert_rows(tx.connection, resources, rows)
    counters.update_counters(tx.connection, [], rows)
    record_added(tx.connection, rows, tx.now, tx.zone)
    last = checked.problems[0].line - 1 if checked.problems else batch.lines[-1].number
    record_change(tx, "import", name, None, {"lines": [batch.lines[0].number, last], "resources": len(rows)})

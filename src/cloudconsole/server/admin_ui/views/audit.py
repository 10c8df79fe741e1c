"""Audit log and access audit page."""

from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from functools import partial
from typing import Any, Final

from msgspec import structs
from sqlalchemy import Connection

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.audit import (
    ACCESS_COLUMNS,
    CHANGE_COLUMNS,
    AuditQuery,
    all_entries,
    count_accesses,
    count_changes,
    describe_change,
    find_accesses,
    find_changes,
)
from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES, QUOTAS, EntityType
from cloudconsole.operator.entities.base import TOGGLE_FIELDS
from cloudconsole.operator.errors import OperatorError, ValidationError
from cloudconsole.operator.fields import seconds_of
from cloudconsole.operator.messages import Message
from cloudconsole.operator.renames import key_after
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.tenant_overview import tenants_of_accounts, usernames_of
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.csv_download import csv_body, csv_response
from cloudconsole.server.admin_ui.fields import FormField, submitted_value
from cloudconsole.server.admin_ui.forms import BoundField, FieldChange, Problems, form_problems
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import label_of, unit_of
from cloudconsole.server.admin_ui.messages import MESSAGES
from cloudconsole.server.admin_ui.names import (
    ACCESS_EVENTS,
    EVENTS,
    FAILED,
    change_name,
    choice_name,
    entity_plural,
    title_of,
)
from cloudconsole.server.admin_ui.page_services import PageServices, suggestions_for
from cloudconsole.server.admin_ui.row_actions import row_actions_for
from cloudconsole.server.admin_ui.sessions import OperatorRequest
from cloudconsole.server.admin_ui.templating import link, notice_in, parse_query
from cloudconsole.server.admin_ui.views.list import MAX_TOTAL, total_text
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.text_escaping import format_cell
from cloudconsole.store.tables.activity import LOGIN_REJECTED

Terms = Mapping[str, str]
"""Filters as typed."""

PAGE: Final = 50
_CSV_PAGE: Final = 500
"""Entries that are in memory at once."""
MAX_DESCRIPTION: Final = 300
"""Characters of one value; a domain's may be a megabyte long."""
_ACCESS: Final = "access"
_TIMES: Final = (
    FormField("since", Text("Since", "起始时间"), Text("From this time.", "自该时间起。"), "time", ("since",)),
    FormField("until", Text("Until", "截止时间"), Text("Before this time.", "早于该时间。"), "time", ("until",)),
)
_ANY_CHANGE: Final = ("{entities}: any change", "{entities}：所有操作")


def _change_names() -> Iterator[tuple[str, Label]]:
    """Yield what changes can begin with, and its name: those of an entity type, each of them, and all others."""
    for entity in ENTITY_TYPES:
        many = entity_plural(entity)
        yield f"{entity.name}.", Message(*_ANY_CHANGE, entities=Text(title_of(many.en), many.zh))
        verbs = [verb for verb in ("add", "change") if verb in entity.verbs]
        changes = [f"{entity.name}.{verb}" for verb in (*verbs, *(action.verb for action in row_actions_for(entity)))]
        yield from ((change, change_name(change)) for change in changes)
    yield from ((name, text) for name, text in EVENTS.items() if name not in ACCESS_EVENTS and "." not in name)


_CHANGES: Final = (
    FormField(
        "actor",
        MESSAGES["audit.actor"],
        Text(
            "Such as web:operator for these pages, or the system user of a command.",
            "管理后台为 web:用户名，命令行为系统用户。",
        ),
        "text",
        ("actor",),
    ),
    FormField(
        "change",
        MESSAGES["audit.change"],
        "",
        "choice",
        ("change",),
        options=tuple(_change_names()),
    ),
    FormField(
        "subject",
        MESSAGES["audit.subject"],
        Text("Name or ID of what was changed.", "被操作对象的名称或 ID。"),
        "text",
        ("subject",),
    ),
    *_TIMES,
)
_ACCESSES: Final = (
    FormField("actor", MESSAGES["audit.account"], Text("Its exact username.", "完整的用户名。"), "text", ("actor",)),
    FormField(
        "tenant",
        label_of("tenant"),
        Text("Of its present accounts.", "仅限其现有账户。"),
        "text",
        ("tenant",),
        suggests="tenant",
    ),
    FormField("event", MESSAGES["audit.event"], "", "choice", ("event",), choices=(FAILED, *ACCESS_EVENTS)),
    FormField(
        "address",
        MESSAGES["audit.address"],
        Text("An IP address or its beginning.", "IP 地址或其开头部分。"),
        "text",
        ("address",),
    ),
    *_TIMES,
)
_NONE: Final = MESSAGES["value.none"]
_DONE: Final[Mapping[str, Mapping[object, Text]]] = {
    "password": {"changed": Text("changed", "已修改")},
    "sessions": {"ended": Text("ended", "已结束")},
}
"""What the log says about an account's password and sessions."""
_COUNTS: Final = {"added", "changed", "removed"}
_COUNTED_ZH: Final = "新增 {added}，修改 {changed}，删除 {removed}"
_SUBJECTS: Final[Mapping[str, EntityType]] = {entity.name: entity for entity in ENTITY_TYPES}


class AuditView:
    def __init__(self, context: PageServices) -> None:
        self._context = context

    async def show(self, request: Request) -> Response:
        return await self._page(request, await self._context.sessions.require(request))

    async def download(self, request: Request) -> Response:
        """Return all entries that were found, with the columns that the command prints."""
        visit = await self._context.sessions.require(request)
        query = parse_query(request)
        is_access, controls, terms = _asked(query)
        try:
            search = structs.replace(_search(terms, {}, self._context.executor.zone), limit=_CSV_PAGE)
            body = await (self._access_csv if is_access else self._change_csv)(search, terms)
        except OperatorError as error:
            return await self._page(request, visit, form_problems(error, controls))
        return csv_response(body, ["sign-ins" if is_access else "audit-log", *terms.values()], self._context.executor)

    async def _page(self, request: Request, visit: OperatorRequest, problems: Problems | None = None) -> Response:
        query = parse_query(request)
        is_access, controls, terms = _asked(query)
        is_rejected, problems = problems is not None, problems or Problems()
        lines, total = list[Record](), 0
        is_paged = "after" in query or "before" in query
        try:
            search = _search(terms, query, self._context.executor.zone)
            lines, total = await (self._accesses if is_access else self._changes)(search, terms, is_paged=is_paged)
        except OperatorError as error:
            problems = form_problems(error, controls)
        is_more = len(lines) > PAGE
        is_backward = "before" in query and "after" not in query
        lines = lines[-PAGE:] if is_backward else lines[:PAGE]
        has_previous = bool(lines) and (is_more if is_backward else is_paged)
        has_next = bool(lines) and (is_backward or is_more)
        given = {**({"log": _ACCESS} if is_access else {}), **terms}
        here = partial(link, "audit/", **given)
        return self._context.page(
            "audit.html",
            request,
            visit,
            status=422 if problems.all else 200,
            is_access=is_access,
            is_of_failures=is_access and terms == {"event": FAILED},
            event=terms.get("event"),
            lines=lines,
            total=total_text(total),
            is_whole=total == len(lines),
            is_rejected=is_rejected,
            csv=link("audit/csv/", **given),
            filters=[
                BoundField(control, terms.get(control.name, ""), problems.of_fields.get(control.name, ()))
                for control in controls
            ],
            is_filtered=bool(terms),
            first=here() if has_previous or (is_paged and not lines) else None,
            previous=here(before=lines[0]["id"]) if has_previous else None,
            following=here(after=lines[-1]["id"]) if has_next else None,
            problems=problems,
            suggestions=await self._context.executor.read(lambda tx: suggestions_for(tx, controls)),
        )

    async def _changes(self, search: AuditQuery, _terms: Terms, *, is_paged: bool) -> tuple[list[Record], int]:
        def read(tx: OperatorTransaction) -> tuple[list[Record], int]:
            lines = describe_changes(tx, search)
            return lines, _total(lines, partial(count_changes, tx.connection), search, is_paged=is_paged)

        return await self._context.executor.read(read)

    async def _change_csv(self, search: AuditQuery, terms: Terms) -> bytes:
        def read(tx: OperatorTransaction) -> bytes:
            entries = (
                {**entry, "what": _shortened(describe_change(entry["before"], entry["after"]))}
                for entry in all_entries(find_changes, tx.connection, search)
            )
            return csv_body(CHANGE_COLUMNS, entries, _command([], terms))

        return await self._context.executor.read(read)

    async def _of_tenant(self, search: AuditQuery, terms: Terms) -> AuditQuery:
        tenant = terms.get("tenant")
        if tenant is None:
            return search
        usernames = await self._context.executor.read(lambda tx: usernames_of(tx, tenant))
        return structs.replace(search, accounts=usernames)

    async def _access_csv(self, search: AuditQuery, terms: Terms) -> bytes:
        search = await self._of_tenant(search, terms)
        command = _command(["--access"], terms)
        return await self._context.executor.read_activity(
            lambda connection: csv_body(ACCESS_COLUMNS, all_entries(find_accesses, connection, search), command)
        )

    async def _accesses(self, search: AuditQuery, terms: Terms, *, is_paged: bool) -> tuple[list[Record], int]:
        search = await self._of_tenant(search, terms)

        def read(connection: Connection) -> tuple[list[Record], int]:
            lines = find_accesses(connection, search)
            return lines, _total(lines, partial(count_accesses, connection), search, is_paged=is_paged)

        lines, total = await self._context.executor.read_activity(read)
        names = {line["username"] for line in lines if line["username"] is not None}
        tenants = await self._context.executor.read(lambda tx: tenants_of_accounts(tx, names))
        return [{**line, "tenant": tenants.get(line["username"])} for line in lines], total


def _asked(query: Mapping[str, str]) -> tuple[bool, tuple[FormField, ...], Terms]:
    """Return whether the sign-ins are asked for, their filters, and what these say."""
    is_access = query.get("log") == _ACCESS
    controls = _ACCESSES if is_access else _CHANGES
    terms = {control.name: text for control in controls if (text := submitted_value(control, query))}
    return is_access, controls, terms


def _total(lines: list[Record], count: Callable[[AuditQuery], int], search: AuditQuery, *, is_paged: bool) -> int:
    if not is_paged and len(lines) <= PAGE:
        return len(lines)
    return count(structs.replace(search, limit=MAX_TOTAL + 1))


def _command(words: list[str], terms: Terms) -> list[str]:
    """Return the command that prints the same entries, or more: it has fewer filters."""
    names = {"actor": "actor", "change": "change", "event": "change", "subject": "subject"}
    flags = {**names, "since": "since", "until": "until"}
    return [
        "cloudconsole",
        "admin",
        "audit",
        *words,
        *(f"--{flags[name]}={text}" for name, text in terms.items() if name in flags and text != FAILED),
    ]


def describe_changes(tx: OperatorTransaction, search: AuditQuery) -> list[Record]:
    """Return audit log entries with the changed fields and a link to the changed entity."""
    return [
        {**line, "fields": _field_changes(line, tx.zone), "page": _page_of(line)}
        for line in find_changes(tx.connection, search)
    ]


def _field_changes(line: Record, zone: tzinfo) -> list[FieldChange]:
    entity = line["change"].removesuffix(" (forced)").partition(".")[0]
    before, after = line["before"], line["after"]
    if before is None or after is None:
        return [_field_change(entity, name, None, value, zone) for name, value in (before or after or {}).items()]
    return [
        _field_change(entity, name, _value_text(entity, name, before.get(name), zone), after.get(name), zone)
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]


def _field_change(entity: str, name: str, before: Label | None, value: Any, zone: tzinfo) -> FieldChange:
    after = _value_text(entity, name, value, zone)
    # None and unlimited have no unit.
    return FieldChange(label_of(name, entity), before, after, "" if isinstance(after, Text) else unit_of(entity, name))


def _value_text(entity: str, name: str, value: Any, zone: tzinfo) -> Label:
    if value is None or isinstance(value, bool):
        if value is None and name not in TOGGLE_FIELDS:
            return _NONE
        return MESSAGES["value.yes" if value else "value.no"]
    if entity == QUOTAS.name and value == UNLIMITED:
        return MESSAGES["value.unlimited"]
    if isinstance(value, int) and name != "id":
        return f"{value:,}"
    if isinstance(value, dict) and value.keys() == _COUNTS:
        counts = {key: f"{count:,}" for key, count in value.items()}
        return Message("{added} added, {changed} changed, {removed} deleted", _COUNTED_ZH, **counts)
    named = choice_name(value, name)
    if isinstance(named, Text):
        return named
    if entity == ACCOUNTS.name and name in _DONE:
        return _DONE[name].get(value, str(value))
    text = (notice_in(zone, value) if isinstance(value, str) else None) or format_cell(value)
    return _shortened(text) if text else _NONE


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION else f"{text[:MAX_DESCRIPTION]}…"


def _page_of(line: Record) -> str | None:
    """Return the link to the changed entity, unless it was removed."""
    name = line["change"].partition(".")[0]
    if name not in _SUBJECTS or line["after"] is None or line["subject"] is None:
        return None
    return link(f"{name}/one/", key=key_after(_SUBJECTS[name], line))


def _search(terms: Mapping[str, str], query: Mapping[str, str], zone: tzinfo) -> AuditQuery:
    texts: dict[str, Any] = {name: terms.get(name) for name in ("actor", "change", "subject", "address")}
    moments: dict[str, Any] = {name: _moment(name, terms[name], zone) for name in ("since", "until") if name in terms}
    entries: dict[str, Any] = {name: _entry_id(query.get(name, "")) for name in ("after", "before")}
    return AuditQuery(**texts, **moments, **entries, events=_events(terms), limit=PAGE + 1)


def _events(terms: Mapping[str, str]) -> tuple[str, ...] | None:
    event = terms.get("event")
    if event == FAILED:
        return tuple(name for name in ACCESS_EVENTS if name.endswith(LOGIN_REJECTED))
    if event is not None and event not in ACCESS_EVENTS:
        raise ValidationError([(("event",), Message("is unknown: choose one from the list", "未知，请从列表中选择"))])
    return None if event is None else (event,)


def _entry_id(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _moment(name: str, text: str, zone: tzinfo) -> int:
    try:
        return seconds_of(text, zone)
    except ValueError as problem:
        raise ValidationError([((name,), problem.args[0])]) from None

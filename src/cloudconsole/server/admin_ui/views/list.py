"""List page: search, order, keyset pagination, and download of what was found."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import QUOTA_USES
from cloudconsole.operator.entities import ACCOUNTS, NEWS, NODES, PRICES, QUOTAS, RESOURCES, EntityType
from cloudconsole.operator.entities.fields_and_filters import Filter
from cloudconsole.operator.entities.pagination import Order
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.login_failures import login_failures_of
from cloudconsole.operator.quota_check import quota_usage_by_tenant
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.tenant_overview import accesses_of
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.columns_states_links import (
    ACTIVE_RESOURCES,
    LAST_LOGIN,
    LOCKED,
    SIZE,
    Column,
    listed_columns,
    listed_state,
    price_states,
    size_text,
    state_of,
)
from cloudconsole.server.admin_ui.csv_download import MAX_CSV_ROWS, csv_body, csv_response
from cloudconsole.server.admin_ui.fields import FormField, Kind
from cloudconsole.server.admin_ui.forms import BoundField, Problems, form_problems
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import filter_label
from cloudconsole.server.admin_ui.page_services import PageServices, suggestions_for
from cloudconsole.server.admin_ui.quota_usage import QuotaUsage, listed_quota_usages
from cloudconsole.server.admin_ui.sessions import OperatorRequest
from cloudconsole.server.admin_ui.templating import link, parse_query
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response

PAGE: Final = 50
"""Rows per page."""
MAX_TOTAL: Final = 1000
"""More rows are not counted."""
_PREFILLING_FILTERS: Final = ("tenant", "node", "kind")
"""Filters that prefill the create form."""


class Search(NamedTuple):
    """What a list shows, and in which order."""

    texts: Mapping[str, str]
    """Filters as typed."""
    filters: Mapping[str, Any]
    order: Order | None


class Cell(NamedTuple):
    """What is shown instead of a record's value."""

    text: Label
    page: str | None = None


class ListRow(NamedTuple):
    key: str
    record: Record
    state: str | None
    """The state, if it is not the ordinary one."""
    ordinary_state: str
    levels: Mapping[str, QuotaUsage] = {}
    """The use of quotas by name."""
    cells: Mapping[str, Cell] = {}
    """By column."""


class Heading(NamedTuple):
    column: Column
    direction: str | None = None
    """The order of the list, if it is sorted by this column."""
    link: str | None = None
    """The list in the order of this column."""


class Listed(NamedTuple):
    """A page of a list."""

    rows: tuple[ListRow, ...] = ()
    total: int = 0
    has_previous: bool = False
    has_next: bool = False
    suggestions: Mapping[str, list[str]] = {}


class ListView:
    def __init__(self, entity: EntityType, context: PageServices) -> None:
        self._entity = entity
        self._context = context
        self._path = f"{entity.name}/"
        # A search finds a prefix, too.
        self._filters = {name: each for name, each in entity.filters().items() if name != "prefix"}
        self._controls = tuple(_control(entity, name, each) for name, each in self._filters.items())
        self._default_order = Order("date", descending=True) if entity is NEWS else None

    async def show(self, request: Request) -> Response:
        return await self._page(request, await self._context.sessions.require(request))

    async def download(self, request: Request) -> Response:
        """Return all rows that were found, with the field names of a cloud file as heading, as commands print them."""
        visit = await self._context.sessions.require(request)
        try:
            search = self._search_in(parse_query(request))
            body = await self._context.executor.read(partial(self._csv, search))
        except OperatorError as error:
            return await self._page(request, visit, form_problems(error, self._controls))
        words = (name if self._filters[name].is_switch else text for name, text in search.texts.items())
        return csv_response(body, [self._entity.plural.lower(), *words], self._context.executor)

    async def _page(self, request: Request, visit: OperatorRequest, problems: Problems | None = None) -> Response:
        query = parse_query(request)
        search = self._search_in(query)
        after, before = query.get("after") or None, query.get("before") or None
        problems, listed = problems or Problems(), Listed()
        try:
            listed = await self._context.executor.read(partial(self._read, search, after, before))
        except OperatorError as error:
            problems = form_problems(error, self._controls)
        if self._entity is ACCOUNTS:
            listed = listed._replace(rows=await self._with_activity(listed.rows))
        rows, order = listed.rows, None if search.order == self._default_order else search.order
        sort = str(order) if order and order.field in self._entity.sort_fields() else ""
        is_first = not listed.has_previous if rows else after is before is None
        here = partial(link, self._path, **search.texts, sort=sort)
        return self._context.noticed_page(
            "list.html",
            request,
            visit,
            status=422 if problems.all else 200,
            entity=self._entity,
            headings=self._headings(search),
            has_states=self._entity is not QUOTAS,
            found=rows,
            total=total_text(listed.total),
            is_whole=listed.total == len(rows),
            filters=[
                BoundField(control, search.texts.get(control.name, ""), problems.of_fields.get(control.name, ()))
                for control in self._controls
            ],
            sort=sort,
            csv=link(f"{self._path}csv/", **search.texts, sort=sort),
            adding=link(f"{self._path}add/", **{name: search.texts.get(name) for name in _PREFILLING_FILTERS}),
            is_filtered=bool(search.texts),
            unfiltered=link(self._path, sort=sort),
            first=None if is_first else here(),
            previous=here(before=rows[0].key) if listed.has_previous else None,
            following=here(after=rows[-1].key) if listed.has_next else None,
            here_again=here(after=after, before=before).partition("?")[2],
            problems=problems,
            suggestions=listed.suggestions,
        )

    async def _with_activity(self, rows: Sequence[ListRow]) -> tuple[ListRow, ...]:
        """Return accounts with their last sign-in and the state of the locked ones."""
        usernames, now = [row.key for row in rows], self._context.executor.now()
        failures, accesses = await self._context.executor.read_activity(
            lambda connection: (login_failures_of(connection, usernames, now), accesses_of(connection, usernames))
        )
        locked = {username for username, each in failures.items() if each.is_locked}
        return tuple(
            row._replace(
                record={**row.record, LAST_LOGIN.name: accesses.last_logins.get(row.key)},
                state=row.state or (LOCKED if row.key in locked else None),
            )
            for row in rows
        )

    def _search_in(self, query: Mapping[str, str]) -> Search:
        texts = {name: text for name in self._filters if (text := query.get(name, "").strip())}
        filters = {name: True if self._filters[name].is_switch else text for name, text in texts.items()}
        return Search(texts, filters, Order.parse(query["sort"]) if query.get("sort") else self._default_order)

    def _headings(self, search: Search) -> list[Heading]:
        sortable = self._entity.sort_fields()
        order = search.order or Order(sortable[0])
        headings: list[Heading] = []
        for column in listed_columns(self._entity, search.texts.get("kind")):
            if column.name not in sortable:
                headings.append(Heading(column))
                continue
            is_current = order.field == column.name
            other = Order(column.name, is_current and not order.descending)
            direction = ("descending" if order.descending else "ascending") if is_current else None
            headings.append(Heading(column, direction, link(self._path, **search.texts, sort=str(other))))
        return headings

    def _read(self, search: Search, after: str | None, before: str | None, tx: OperatorTransaction) -> Listed:
        entity = self._entity
        records = entity.list(tx, search.filters, after, PAGE + 1, before=before, order=search.order)
        is_backward = after is None and before is not None
        is_more = len(records) > PAGE
        records = records[-PAGE:] if is_backward else records[:PAGE]
        is_whole = not is_more and after is before is None
        levels = listed_quota_usages(tx, records) if entity is QUOTAS else {}
        total = len(records) if is_whole else entity.count(tx, search.filters, MAX_TOTAL + 1)
        return Listed(
            tuple(
                ListRow(
                    entity.key_of(record),
                    record,
                    state,
                    listed_state(entity, record, state),
                    levels.get(entity.key_of(record), {}),
                    self._cells(tx, record, search),
                )
                for record, state in zip(records, self._states(tx, records), strict=True)
            ),
            total,
            has_previous=is_more if is_backward else bool(after and records),
            has_next=bool(records) if is_backward else is_more,
            suggestions=suggestions_for(tx, self._controls),
        )

    def _cells(self, tx: OperatorTransaction, record: Record, search: Search) -> Mapping[str, Cell]:
        if self._entity is RESOURCES and "kind" not in search.texts:
            return {SIZE: Cell(size_text(record))}
        if self._entity is NODES:
            active = {"node": record["name"], "running": True}
            page = link("resource/", node=record["name"], running="on")
            return {ACTIVE_RESOURCES.name: Cell(total_text(RESOURCES.count(tx, active, MAX_TOTAL + 1)), page)}
        return {}

    def _states(self, tx: OperatorTransaction, records: list[Record]) -> list[str | None]:
        now = format_utc(tx.now)
        if self._entity is not PRICES:
            return [state_of(self._entity, record, now) for record in records]
        # Which price is in force depends on all others, in their own order.
        prices = PRICES.list(tx, limit=None)
        states = dict(zip(map(PRICES.key_of, prices), price_states(prices, now), strict=True))
        return [states[PRICES.key_of(record)] for record in records]

    def _csv(self, search: Search, tx: OperatorTransaction) -> bytes:
        records = self._entity.list(tx, search.filters, limit=MAX_CSV_ROWS + 1, order=search.order)
        columns = [given.name for given in self._entity.inputs() if given.shape != "json"]
        if self._entity is QUOTAS:
            columns = [each for name in columns for each in (name, *([f"{name}_used"] if name in QUOTA_USES else []))]
            use = quota_usage_by_tenant(tx, [record["tenant"] for record in records[:MAX_CSV_ROWS]])
            for record in records[:MAX_CSV_ROWS]:
                record |= {f"{name}_used": used for name, used in use[record["tenant"]].items()}
        return csv_body(columns, records, self._command(search))

    def _command(self, search: Search) -> list[str]:
        """Return the command that prints the same rows."""
        words = ["cloudconsole", "admin", self._entity.name, "list"]
        for name, value in search.filters.items():
            words += [f"--{name}"] if value is True else [f"--{name}={value}"]
        if search.order is not None:
            words += [f"--sort={search.order.field}", *(["--descending"] if search.order.descending else [])]
        return words


def total_text(total: int) -> str:
    return f"{MAX_TOTAL:,}+" if total > MAX_TOTAL else f"{total:,}"


def _control(entity: EntityType, name: str, chosen: Filter) -> FormField:
    kind: Kind = "switch" if chosen.is_switch else "choice" if chosen.choices else "text"
    suggests = name if name in ("tenant", "node") else None
    label = filter_label(entity.name, name, chosen)
    return FormField(name, label, "", kind, (name,), choices=chosen.choices, suggests=suggests)

"""List page with keyset pagination and no total count."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities import PRICES, EntityType
from cloudconsole.operator.entities.fields_and_filters import Filter
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.columns_states_links import Column, columns_of, price_states, state_of
from cloudconsole.server.admin_ui.fields import FormField, Kind
from cloudconsole.server.admin_ui.forms import BoundField, Problems, form_problems
from cloudconsole.server.admin_ui.labels import filter_label, label_of
from cloudconsole.server.admin_ui.messages import MESSAGES
from cloudconsole.server.admin_ui.page_services import PageServices, Suggestions, suggestions_for
from cloudconsole.server.admin_ui.templating import link, parse_query
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.spec.i18n import Text

PAGE: Final = 50
"""Rows per page."""
_PREFILLING_FILTERS: Final = ("tenant", "node")
"""Filters that prefill the create form."""


class ListRow(NamedTuple):
    key: str
    record: Record
    state: str | None


class ListView:
    def __init__(self, entity: EntityType, context: PageServices) -> None:
        self._entity = entity
        self._context = context
        # A search finds a prefix, too.
        self._filters = {name: each for name, each in entity.filters().items() if name != "prefix"}
        self._controls = tuple(_control(entity, name, each) for name, each in self._filters.items())
        self._columns: tuple[Column, ...] = columns_of(entity)

    async def show(self, request: Request) -> Response:
        visit = await self._context.sessions.require(request)
        query = parse_query(request)
        selected = {name: text for name in self._filters if (text := query.get(name, "").strip())}
        problems = Problems()
        found: list[ListRow] = []
        suggestions: Suggestions = {}
        try:
            found, suggestions = await self._context.executor.read(
                partial(self._read, selected, query.get("after") or None)
            )
        except OperatorError as error:
            problems = form_problems(error, self._controls)
        is_more = len(found) > PAGE
        found = found[:PAGE]
        path = f"{self._entity.name}/"
        return self._context.noticed_page(
            "list.html",
            request,
            visit,
            status=422 if problems.all else 200,
            entity=self._entity,
            columns=self._columns,
            key_label=MESSAGES["list.price"] if self._entity is PRICES else label_of(self._entity.key),
            found=found,
            filters=[
                BoundField(control, selected.get(control.name, ""), problems.of_fields.get(control.name, ()))
                for control in self._controls
            ],
            adding=link(f"{path}add/", **{name: selected.get(name) for name in _PREFILLING_FILTERS}),
            is_filtered=bool(selected),
            is_first="after" not in query,
            first=link(path, **selected),
            following=link(path, **selected, after=found[-1].key) if is_more else None,
            problems=problems,
            suggestions=suggestions,
        )

    def _read(
        self, selected: Mapping[str, str], after: str | None, tx: OperatorTransaction
    ) -> tuple[list[ListRow], Suggestions]:
        filters: dict[str, Any] = {
            name: True if self._filters[name].is_switch else value for name, value in selected.items()
        }
        records = self._entity.list(tx, filters, after, PAGE + 1)
        now = format_utc(tx.now)
        states = [state_of(self._entity, record, now) for record in records]
        if self._entity is PRICES:
            states = price_states(records, now)
        listed = [
            ListRow(self._entity.key_of(record), record, state) for record, state in zip(records, states, strict=True)
        ]
        return listed, suggestions_for(tx, self._controls)


def _control(entity: EntityType, name: str, chosen: Filter) -> FormField:
    kind: Kind = "switch" if chosen.is_switch else "choice" if chosen.choices else "text"
    suggests = name if name in ("tenant", "node") else None
    label, hint = filter_label(entity.name, name, chosen), _IGNORES_CASE if name == "search" else ""
    return FormField(name, label, hint, kind, (name,), choices=chosen.choices, suggests=suggests)


_IGNORES_CASE: Final = Text("Ignores the case of A to Z.", "不区分英文字母大小写。")

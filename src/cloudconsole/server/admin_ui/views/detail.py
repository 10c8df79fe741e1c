"""Detail/edit page, quota usage panel."""

from functools import partial
from typing import Final, NamedTuple

from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import UNLIMITED
from cloudconsole.operator.entities import QUOTAS, RESOURCES, TENANTS, ChangeResult, EntityType
from cloudconsole.operator.entities.base import NOTHING_TO_CHANGE, PAST_TENSE
from cloudconsole.operator.entities.quotas import quota_usage_of
from cloudconsole.operator.entities.references import find_tenant
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.serializers import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.actions import ENDED, row_actions_for
from cloudconsole.server.admin_ui.context import PageContext, Suggestions, suggestions_for
from cloudconsole.server.admin_ui.fields import FormField, edit_fields
from cloudconsole.server.admin_ui.forms import (
    STALE_FORM,
    BoundField,
    Problems,
    changed_fields,
    edit_values,
    form_problems,
    is_stale,
    record_fields,
    record_fingerprint,
    submitted_fields,
    submitted_texts,
)
from cloudconsole.server.admin_ui.labels import label_of, unit_of
from cloudconsole.server.admin_ui.presentation import add_links_for, column_of, related_links_for, state_of
from cloudconsole.server.admin_ui.sessions import FormPost, OperatorRequest
from cloudconsole.server.admin_ui.templating import key_of, link, parse_query
from cloudconsole.server.admin_ui.views.create import Preview, dry_run, is_preview
from cloudconsole.server.http.proxy import RequestOrigin
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response


class QuotaUsage(NamedTuple):
    label: str
    unit: str
    used: int
    limit: int

    @property
    def is_unlimited(self) -> bool:
        return self.limit == UNLIMITED

    @property
    def is_over(self) -> bool:
        return not self.is_unlimited and self.used > self.limit


def quota_usage(desk: OperatorTransaction, tenant: str) -> list[QuotaUsage]:
    """The quotas from which resources take, and what they have taken."""
    limits, used = QUOTAS.show(desk, tenant), quota_usage_of(desk, find_tenant(desk, tenant)["id"])
    return [
        QuotaUsage(label_of(name, "quota"), unit_of("quota", name), amount, limits[name])
        for name, amount in used.items()
    ]


CHANGED_MEANWHILE: Final = (
    "It was changed since this page was made, and nothing of yours was saved. What is new is in the form, \
and beside what you typed: look it through, and save again."
)


CONFLICT: Final = 409
"""What was sent is about something that is not so any more."""


class Stale(Exception):
    """The record is not the one any more that the form was made from."""


class LoadedRecord(NamedTuple):
    """One thing, and what its page needs besides."""

    record: Record
    controls: tuple[FormField, ...]
    state: str | None
    notes: dict[str, str]
    suggestions: Suggestions
    standing: list[QuotaUsage]


class DetailView:
    def __init__(self, noun: EntityType, room: PageContext) -> None:
        self._noun = noun
        self._room = room

    async def show(self, request: Request, front: RequestOrigin) -> Response:
        visit = await self._room.sessions.require(request, front)
        return await self._page(request, front, visit, key_of(parse_query(request)))

    async def change(self, request: Request, front: RequestOrigin) -> Response:
        room = self._room
        posted = await room.sessions.receive(request, front)
        key = key_of(posted.fields)
        again = partial(self._page, request, front, posted.visit, key, posted)
        if not posted.is_current:
            return await again(submitted_texts(STALE_FORM), 403)
        previews = is_preview(self._noun, posted.fields)
        try:
            done = await room.office.do(partial(self._change, posted, key, previews=previews))
        except Stale:
            return await again(submitted_texts(CHANGED_MEANWHILE), CONFLICT)
        except OperatorError as refused:
            return await again(refused, 422)
        after, past = done.after or {}, PAST_TENSE["change"] if done.changed else NOTHING_TO_CHANGE
        if previews:
            return await again(Problems(), 200, preview=Preview.of(after, room.office))
        page = link(f"{self._noun.name}/one/", key=self._noun.key_of(after))
        return room.done(front, self._noun, done.subject, past, page)

    def _change(self, posted: FormPost, key: str, *, previews: bool) -> ChangeResult:
        noun, office, fields = self._noun, self._room.office, posted.fields

        def work(desk: OperatorTransaction) -> ChangeResult:
            record = noun.show(desk, key)
            if is_stale(fields, record):
                raise Stale
            controls = edit_fields(noun, record)
            return noun.change(desk, key, edit_values(noun, controls, fields, record, office.zone))

        if previews:
            return dry_run(office, posted.visit.session, work)
        force = "change" in noun.overridable and "force" in fields
        with office.writing(posted.visit.session, force=force) as desk:
            return work(desk)

    async def _page(
        self,
        request: Request,
        front: RequestOrigin,
        visit: OperatorRequest,
        key: str,
        posted: FormPost | None = None,
        refused: Problems | OperatorError | None = None,
        status: int = 200,
        *,
        preview: Preview | None = None,
    ) -> Response:
        noun, zone = self._noun, self._room.office.zone
        try:
            found = await self._room.office.look(partial(self._read, key))
        except OperatorError as missing:
            return self._room.missing(request, visit, str(missing))
        record, controls = found.record, found.controls
        problems = form_problems(refused, controls) if isinstance(refused, OperatorError) else refused or Problems()
        seen, fields = record_fingerprint(controls, record, zone), record_fields(controls, record, zone)
        if posted is not None and is_stale(posted.fields, record):
            fields = self._merged(fields, controls, posted)
        elif posted is not None:
            fields = submitted_fields(controls, posted.fields, problems)
        is_fixed = "change" not in noun.verbs or (noun is RESOURCES and found.state == ENDED)
        return self._room.noticed_page(
            "detail.html",
            request,
            front,
            visit,
            status=status,
            noun=noun,
            key=key,
            record=record,
            state=found.state,
            facts=[
                column_of(noun, given)
                for given in noun.inputs()
                if (is_fixed or given.name not in {control.path[0] for control in controls}) and given.name in record
            ],
            fields=[] if is_fixed else [field._replace(note=found.notes.get(field.control.name)) for field in fields],
            seen=seen,
            deeds=[deed for deed in row_actions_for(noun) if deed.applies_to(record, found.state)],
            additions=add_links_for(noun, key),
            standing=found.standing,
            related=related_links_for(noun, key, record),
            problems=problems,
            is_stale=status == CONFLICT,
            may_be_forced=problems.may_be_forced,
            suggestions=found.suggestions,
            preview=preview,
        )

    def _merged(self, current: list[BoundField], controls: tuple[FormField, ...], posted: FormPost) -> list[BoundField]:
        """The record as it is now, with what was typed in its place; where both differ, both are shown."""
        typed = {field.control.name: field.text for field in submitted_fields(controls, posted.fields, Problems())}
        own = changed_fields(controls, posted.fields)
        return [
            field._replace(text=typed[name], now=field.text or "nothing")
            if (name := field.control.name) in own and typed[name] != field.text
            else field
            for field in current
        ]

    def _read(self, key: str, desk: OperatorTransaction) -> LoadedRecord:
        noun = self._noun
        record = noun.show(desk, key)
        controls = edit_fields(noun, record) if "change" in noun.verbs else ()
        notes: dict[str, str] = {}
        if noun is QUOTAS:
            used = quota_usage_of(desk, find_tenant(desk, key)["id"])
            notes = {name: f"{amount} in use" for name, amount in used.items()}
        state = state_of(noun, record, format_utc(desk.now))
        standing = quota_usage(desk, key) if noun is TENANTS else []
        return LoadedRecord(record, controls, state, notes, suggestions_for(desk, controls), standing)

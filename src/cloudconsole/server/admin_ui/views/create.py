"""Create page, news preview."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

from cloudconsole.core.resources import Role
from cloudconsole.operator.entities import ACCOUNTS, NEWS, ChangeResult, EntityType
from cloudconsole.operator.entities.base import PAST_TENSE
from cloudconsole.operator.errors import FieldError, OperatorError, ValidationError, raise_if_invalid
from cloudconsole.operator.serializers import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui import actions
from cloudconsole.server.admin_ui.context import PageContext, Suggestions, suggestions_for
from cloudconsole.server.admin_ui.executor import DatabaseExecutor
from cloudconsole.server.admin_ui.fields import FormField, create_fields
from cloudconsole.server.admin_ui.forms import (
    STALE_FORM,
    BoundField,
    Problems,
    Values,
    create_values,
    form_problems,
    prefilled_fields,
    submitted_fields,
    submitted_texts,
)
from cloudconsole.server.admin_ui.sessions import FormPost, OperatorRequest
from cloudconsole.server.admin_ui.templating import link, parse_query
from cloudconsole.server.http.proxy import RequestOrigin
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.sessions import Session


class Preview(NamedTuple):
    date: str
    """As tenants read it."""
    title: str
    url: str
    is_upcoming: bool

    @classmethod
    def of(cls, record: Record, office: DatabaseExecutor) -> "Preview":
        moment = datetime.strptime(record["date"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        told = f"{moment.astimezone(office.zone):%Y-%m-%d %H:%M:%S}"
        return cls(told, record["title"], record["url"], moment.timestamp() > office.now())


def is_preview(noun: EntityType, fields: Mapping[str, str]) -> bool:
    return noun is NEWS and "preview" in fields


class _Rollback(Exception):
    pass


def dry_run(
    office: DatabaseExecutor, who: Session, work: Callable[[OperatorTransaction], ChangeResult]
) -> ChangeResult:
    """What a change would do; nothing is changed."""
    found: list[ChangeResult] = []
    try:
        with office.writing(who) as desk:
            found.append(work(desk))
            raise _Rollback
    except _Rollback:
        return found[0]


FRESH: Final = "fresh"
"""The hidden field with the key that the new one gets, where it is made up."""


class CreateView:
    def __init__(self, noun: EntityType, room: PageContext) -> None:
        self._noun = noun
        self._room = room
        own = create_fields(noun)
        self._controls: tuple[FormField, ...] = (*own, *actions.PASSWORDS) if noun is ACCOUNTS else own

    async def show(self, request: Request, front: RequestOrigin) -> Response:
        visit = await self._room.sessions.require(request, front)
        return await self._page(request, visit, prefilled_fields(self._controls, parse_query(request)))

    async def add(self, request: Request, front: RequestOrigin) -> Response:
        room = self._room
        posted = await room.sessions.receive(request, front)
        if not posted.is_current:
            return await self._again(request, posted, submitted_texts(STALE_FORM), 403)
        previews = is_preview(self._noun, posted.fields)
        try:
            done = await room.office.do(partial(self._add, posted, previews=previews))
        except OperatorError as refused:
            return await self._again(request, posted, form_problems(refused, self._controls), 422)
        added = done.after or {}
        if previews:
            return await self._again(request, posted, Problems(), 200, Preview.of(added, room.office))
        past = PAST_TENSE["add"] if done.changed else "is there already"
        return room.done(front, self._noun, done.subject, past, link(f"{self._noun.name}/one/", key=done.subject))

    def _add(self, posted: FormPost, *, previews: bool) -> ChangeResult:
        office, fields = self._room.office, posted.fields
        values = create_values(self._controls, fields)
        force = "add" in self._noun.overridable and "force" in fields
        if self._noun is ACCOUNTS:
            values = {name: value for name, value in values.items() if not name.startswith("password")}
            # Hashed before the transaction: it takes its time, in which others could not write.
            values["password_hash"] = hash_password(self._checked_password(values, fields))
        if previews:
            return dry_run(office, posted.visit.session, lambda desk: self._noun.add(desk, values))
        fresh = fields.get(FRESH, "") if self._noun.key not in values else ""
        with office.writing(posted.visit.session, force=force) as desk:
            # A form that is sent twice, as by two clicks, adds one thing all the same.
            return self._noun.add_once(desk, fresh, values) if fresh else self._noun.add(desk, values)

    def _checked_password(self, values: Values, fields: Mapping[str, str]) -> str:
        """The password that was typed; refused together with what is wrong with the account."""
        findings: list[FieldError] = []
        try:
            with self._room.office.looking() as desk:
                ACCOUNTS.check_new(desk, values)
        except ValidationError as refused:
            findings += refused.findings
        role: Role = "operator" if values.get("role") == "operator" else "tenant"
        findings += actions.password_errors(fields, self._room.office.password_policy, role)
        raise_if_invalid(findings)
        return fields["password"]

    async def _again(
        self, request: Request, posted: FormPost, problems: Problems, status: int, preview: Preview | None = None
    ) -> Response:
        fields = submitted_fields(self._controls, posted.fields, problems)
        fresh = posted.fields.get(FRESH)
        return await self._page(request, posted.visit, fields, problems, status, preview, fresh)

    async def _page(
        self,
        request: Request,
        visit: OperatorRequest,
        fields: list[BoundField],
        problems: Problems | None = None,
        status: int = 200,
        preview: Preview | None = None,
        fresh: str | None = None,
    ) -> Response:
        problems = problems or Problems()

        def read(desk: OperatorTransaction) -> tuple[Suggestions, str | None]:
            return suggestions_for(desk, self._controls), self._noun.fresh_key(desk)

        suggestions, new_key = await self._room.office.look(read)

        return self._room.page(
            "create.html",
            request,
            visit,
            status=status,
            noun=self._noun,
            fields=fields,
            problems=problems,
            suggestions=suggestions,
            fresh=fresh or new_key,
            may_be_forced=problems.may_be_forced,
            preview=preview,
        )

"""Create page, and preview of news."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

from cloudconsole.core.resources import Role
from cloudconsole.operator.entities import ACCOUNTS, NEWS, ChangeResult, EntityType
from cloudconsole.operator.errors import FieldError, OperatorError, ValidationError, raise_if_invalid
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.database import DatabaseExecutor
from cloudconsole.server.admin_ui.fields import FormField, create_fields
from cloudconsole.server.admin_ui.forms import (
    CANCEL,
    RESTORED_FORM,
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
from cloudconsole.server.admin_ui.names import ADDED_BEFORE, DONE
from cloudconsole.server.admin_ui.page_services import PageServices, Suggestions, suggestions_for
from cloudconsole.server.admin_ui.password_fields import PASSWORDS, password_errors
from cloudconsole.server.admin_ui.sessions import FormPost, OperatorRequest
from cloudconsole.server.admin_ui.templating import link, parse_query
from cloudconsole.server.admin_ui.views.form_panels import FormPanel, form_panel
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.session_lookup import Session


class Preview(NamedTuple):
    date: str
    """Formatted as for tenants."""
    title: str
    url: str
    language: str | None
    is_pinned: bool
    is_upcoming: bool

    @classmethod
    def of(cls, record: Record, executor: DatabaseExecutor) -> "Preview":
        moment = datetime.strptime(record["date"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        date = f"{moment.astimezone(executor.zone):%Y-%m-%d %H:%M:%S}"
        is_upcoming = moment.timestamp() > executor.now()
        content = record["title"], record["url"], record.get("language")
        return cls(date, *content, record.get("pinned", False), is_upcoming)


def is_preview(entity: EntityType, fields: Mapping[str, str]) -> bool:
    return entity is NEWS and "preview" in fields


class _Rollback(Exception):
    pass


def dry_run(
    executor: DatabaseExecutor, who: Session, work: Callable[[OperatorTransaction], ChangeResult]
) -> ChangeResult:
    """Run a change, roll it back and return its result."""
    results: list[ChangeResult] = []
    try:
        with executor.writing(who) as tx:
            results.append(work(tx))
            raise _Rollback
    except _Rollback:
        return results[0]


FRESH: Final = "fresh"
"""Hidden field with a generated key for the new entity."""


class CreateView:
    def __init__(self, entity: EntityType, context: PageServices) -> None:
        self._entity = entity
        self._context = context
        own = create_fields(entity)
        self._controls: tuple[FormField, ...] = (*own, *PASSWORDS) if entity is ACCOUNTS else own

    async def show(self, request: Request) -> Response:
        visit = await self._context.sessions.require(request)
        return await self._page(request, visit, self._prefilled(request))

    def _prefilled(self, request: Request) -> list[BoundField]:
        return prefilled_fields(self._entity, self._controls, parse_query(request), self._context.executor.zone)

    async def add(self, request: Request) -> Response:
        context = self._context
        posted = await context.sessions.receive(request)
        if not posted.is_current:
            return await self._again(request, posted, submitted_texts(STALE_FORM), 403)
        if CANCEL in posted.fields:
            return await self._again(request, posted, Problems(), 200)
        previews = is_preview(self._entity, posted.fields)
        try:
            done = await context.executor.write(partial(self._add, posted, previews=previews))
        except OperatorError as error:
            return await self._again(request, posted, form_problems(error, self._controls), 422)
        added = done.after or {}
        if previews:
            return await self._again(request, posted, Problems(), 200, Preview.of(added, context.executor))
        past = DONE["add"] if done.changed else ADDED_BEFORE
        return context.done(
            request, self._entity, done.subject, past, link(f"{self._entity.name}/one/", key=done.subject)
        )

    async def restore(self, request: Request, posted: FormPost) -> Response:
        """Show what was typed before the session ended."""
        return await self._again(request, posted, submitted_texts(RESTORED_FORM), 200)

    def _add(self, posted: FormPost, *, previews: bool) -> ChangeResult:
        executor, fields = self._context.executor, posted.fields
        values = create_values(self._controls, fields)
        if self._entity is ACCOUNTS:
            values = {name: value for name, value in values.items() if not name.startswith("password")}
            # Hashed before the transaction: hashing is slow, and a transaction blocks other writers.
            values["password_hash"] = hash_password(self._checked_password(values, fields))
        if previews:
            return dry_run(executor, posted.visit.session, lambda tx: self._entity.add(tx, values))
        fresh = fields.get(FRESH, "") if self._entity.key not in values else ""
        with executor.writing(posted.visit.session, posted.confirmations) as tx:
            # A form sent twice, as by a double click, adds one entity.
            return self._entity.add_once(tx, fresh, values) if fresh else self._entity.add(tx, values)

    def _checked_password(self, values: Values, fields: Mapping[str, str]) -> str:
        """Return the password; report its errors together with those of the account."""
        findings: list[FieldError] = []
        try:
            with self._context.executor.reading() as tx:
                ACCOUNTS.check_new(tx, values)
        except ValidationError as error:
            findings += error.errors
        role: Role = "operator" if values.get("role") == "operator" else "tenant"
        findings += password_errors(fields, self._context.executor.password_policy, role)
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

        def read(tx: OperatorTransaction) -> tuple[Suggestions, str | None, FormPanel | None]:
            values = {field.definition.name: field.text for field in fields}
            panel = form_panel(tx, self._entity, values)
            return suggestions_for(tx, self._controls), self._entity.fresh_key(tx), panel

        suggestions, new_key, panel = await self._context.executor.read(read)

        return self._context.page(
            "create.html",
            request,
            visit,
            status=status,
            entity=self._entity,
            fields=fields,
            problems=problems,
            suggestions=suggestions,
            fresh=fresh or new_key,
            preview=preview,
            panel=panel,
        )

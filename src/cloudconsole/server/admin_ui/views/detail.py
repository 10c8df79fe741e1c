"""Detail and edit page."""

from functools import partial
from typing import Final, NamedTuple

from sqlalchemy import Connection

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities import ACCOUNTS, NEWS, PRICES, QUOTAS, RESOURCES, TENANTS, ChangeResult, EntityType
from cloudconsole.operator.entities.prices import is_in_force
from cloudconsole.operator.entities.references import find_tenant
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.login_failures import LoginFailures, login_failures_of
from cloudconsole.operator.messages import Message
from cloudconsole.operator.quota_check import quota_usage_of
from cloudconsole.operator.renames import renamed_to
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.tenant_overview import accesses_of
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.columns_states_links import (
    LOCKED,
    add_links_for,
    column_of,
    price_states,
    related_links_for,
    state_of,
)
from cloudconsole.server.admin_ui.fields import FormField, edit_fields
from cloudconsole.server.admin_ui.forms import (
    CANCEL,
    RESTORED_FORM,
    STALE_FORM,
    Problems,
    edit_values,
    field_changes,
    form_problems,
    is_stale,
    merged_fields,
    record_fields,
    record_fingerprint,
    submitted_fields,
    submitted_texts,
)
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.messages import MESSAGES
from cloudconsole.server.admin_ui.names import DONE, NOTHING_TO_CHANGE
from cloudconsole.server.admin_ui.page_services import PageServices, Suggestions, suggestions_for
from cloudconsole.server.admin_ui.quota_usage import QuotaUsage, quota_usages
from cloudconsole.server.admin_ui.row_actions import ENDED, UNLOCK, row_actions_for
from cloudconsole.server.admin_ui.sessions import FormPost, OperatorRequest
from cloudconsole.server.admin_ui.templating import back_of, key_of, link, parse_query
from cloudconsole.server.admin_ui.tenant_panels import read_tenant_panels
from cloudconsole.server.admin_ui.views.create import Preview, dry_run, is_preview
from cloudconsole.server.admin_ui.views.form_panels import FormPanel, form_panel
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.spec.i18n import Text

CHANGED_MEANWHILE: Final = Text(
    "It was changed after this page was loaded, and nothing was saved. Check its state and the marked fields, and save "
    "again.",
    "此页面打开后内容已被修改，未保存任何更改。请检查其状态和标记的字段，然后重新保存。",
)
_IN_USE: Final = ("{amount} in use", "已用 {amount}")
_IN_USE_LEVEL: Final = ("{amount} in use: {level}", "已用 {amount}：{level}")


def _use_note(usage: QuotaUsage) -> Message:
    if usage.level is None:
        return Message(*_IN_USE, amount=usage.shown_use)
    return Message(*_IN_USE_LEVEL, amount=usage.shown_use, level=MESSAGES[f"detail.quotas.{usage.level}"])


_ONLY_AMOUNT: Final = Text(
    "Applies from its start on, to past hours as well. For another price from now on, add a new one.",
    "修改后自生效时间起重新计价，包括此前的时段。如只需调整今后的价格，请添加新价格。",
)

CONFLICT: Final = 409
"""Status of an edit conflict."""


class Stale(Exception):
    """The record changed after the form was rendered."""


class LoadedRecord(NamedTuple):
    """A record and the other data of its page."""

    record: Record
    fields: tuple[FormField, ...]
    state: str | None
    notes: dict[str, Label]
    warnings: set[str]
    """Names of the fields whose notes are warnings."""
    suggestions: Suggestions
    panel: FormPanel | None
    translation: str | None
    """Key of the same news in the other language."""


class AccountActivity(NamedTuple):
    last_login: str | None
    failures: LoginFailures
    newest: list[Record]
    """The last sign-ins."""


class DetailView:
    def __init__(self, entity: EntityType, context: PageServices) -> None:
        self._entity = entity
        self._context = context

    async def show(self, request: Request) -> Response:
        visit = await self._context.sessions.require(request)
        return await self._page(request, visit, key_of(parse_query(request)))

    async def change(self, request: Request) -> Response:
        context = self._context
        posted = await context.sessions.receive(request)
        key = key_of(posted.fields)
        again = partial(self._page, request, posted.visit, key, posted)
        if not posted.is_current:
            return await again(submitted_texts(STALE_FORM), 403)
        if CANCEL in posted.fields:
            return await again(Problems(), 200)
        previews = is_preview(self._entity, posted.fields)
        try:
            done = await context.executor.write(partial(self._change, posted, key, previews=previews))
        except Stale:
            return await again(submitted_texts(CHANGED_MEANWHILE), CONFLICT)
        except OperatorError as error:
            return await again(error, 422)
        after, past = done.after or {}, DONE["change"] if done.changed else NOTHING_TO_CHANGE
        if previews:
            return await again(Problems(), 200, preview=Preview.of(after, context.executor))
        page = link(f"{self._entity.name}/one/", key=self._entity.key_of(after), back=back_of(request))
        return context.done(request, self._entity, done.subject, past, page)

    async def restore(self, request: Request, posted: FormPost) -> Response:
        """Show what was typed before the session ended."""
        key = key_of(posted.fields)
        return await self._page(request, posted.visit, key, posted, submitted_texts(RESTORED_FORM))

    def _change(self, posted: FormPost, key: str, *, previews: bool) -> ChangeResult:
        entity, executor, fields = self._entity, self._context.executor, posted.fields

        def work(tx: OperatorTransaction) -> ChangeResult:
            record = entity.show(tx, key)
            if is_stale(fields, record):
                raise Stale
            controls = edit_fields(entity, record)
            return entity.change(tx, key, edit_values(entity, controls, fields, record, executor.zone))

        if previews:
            return dry_run(executor, posted.visit.session, work)
        with executor.writing(posted.visit.session, posted.confirmations) as tx:
            return work(tx)

    async def _page(
        self,
        request: Request,
        visit: OperatorRequest,
        key: str,
        posted: FormPost | None = None,
        error: Problems | OperatorError | None = None,
        status: int = 200,
        *,
        preview: Preview | None = None,
    ) -> Response:
        entity, zone = self._entity, self._context.executor.zone
        try:
            found = await self._context.executor.read(partial(self._read, key))
        except OperatorError as missing:
            name = await self._context.executor.read(lambda tx: renamed_to(tx, entity, key)) if posted else None
            if name is not None:
                # What was typed is shown with the present values.
                conflict = submitted_texts(CHANGED_MEANWHILE)
                return await self._page(request, visit, name, posted, conflict, CONFLICT)
            return await self._context.entity_not_found(request, visit, entity, key, missing.message)
        record, controls = found.record, found.fields
        problems = form_problems(error, controls) if isinstance(error, OperatorError) else error or Problems()
        seen, fields = record_fingerprint(controls, record, zone), record_fields(controls, record, zone)
        if posted is not None and is_stale(posted.fields, record):
            fields = merged_fields(controls, posted.fields, record, zone)
        elif posted is not None:
            fields = submitted_fields(controls, posted.fields, problems)
        changes = field_changes(record_fields(controls, record, zone), fields) if problems.confirmations else []
        activity = await self._account_activity(key) if entity is ACCOUNTS else None
        is_locked = activity is not None and activity.failures.is_locked
        is_fixed = "change" not in entity.verbs or (entity is RESOURCES and found.state == ENDED)
        return self._context.noticed_page(
            "detail.html",
            request,
            visit,
            status=status,
            entity=entity,
            key=key,
            record=record,
            state=found.state or (LOCKED if is_locked else None),
            activity=activity,
            facts=[
                column_of(entity, given)
                for given in entity.inputs()
                if (is_fixed or given.name not in {control.path[0] for control in controls}) and given.name in record
            ],
            fields=[]
            if is_fixed
            else [
                field._replace(
                    note=found.notes.get(field.definition.name, ""), is_warning=field.definition.name in found.warnings
                )
                for field in fields
            ],
            seen=seen,
            row_actions=[
                action
                for action in row_actions_for(entity)
                if action.applies_to(record, found.state)
                and (action.verb != UNLOCK or (activity is not None and activity.failures.number))
            ],
            additions=add_links_for(entity, key, record, found.translation),
            tenant=await read_tenant_panels(self._context, key, record) if entity is TENANTS else None,
            related=[] if entity is TENANTS else related_links_for(entity, key, record, found.translation),
            problems=problems,
            changes=changes,
            is_stale=status == CONFLICT,
            suggestions=found.suggestions,
            preview=preview,
            panel=found.panel,
        )

    async def _account_activity(self, username: str) -> AccountActivity:
        now = self._context.executor.now()

        def read(connection: Connection) -> AccountActivity:
            failures = login_failures_of(connection, [username], now)
            accesses = accesses_of(connection, [username])
            last_login = accesses.last_logins.get(username)
            return AccountActivity(last_login, failures.get(username, LoginFailures()), accesses.newest)

        return await self._context.executor.read_activity(read)

    def _read(self, key: str, tx: OperatorTransaction) -> LoadedRecord:
        entity = self._entity
        record = entity.show(tx, key)
        controls = edit_fields(entity, record) if "change" in entity.verbs else ()
        notes: dict[str, Label] = {}
        warnings: set[str] = set()
        if entity is QUOTAS:
            usage = quota_usages(record, quota_usage_of(tx, find_tenant(tx, key)["id"]))
            notes = {name: _use_note(each) for name, each in usage.items()}
            warnings = {name for name, each in usage.items() if each.level}
        state = state_of(entity, record, format_utc(tx.now))
        if entity is PRICES:
            if is_in_force(record, tx.now):
                controls = tuple(control for control in controls if control.name == "price")
                notes["price"] = _ONLY_AMOUNT
            prices = PRICES.list(tx, {"kind": record["kind"]}, limit=None)
            state = price_states(prices, format_utc(tx.now))[prices.index(record)]
        panel = form_panel(tx, entity, record) if entity in (PRICES, RESOURCES) else None
        translation = NEWS.in_other_language(tx, record) if entity is NEWS else None
        suggestions = suggestions_for(tx, controls)
        return LoadedRecord(record, controls, state, notes, warnings, suggestions, panel, translation)

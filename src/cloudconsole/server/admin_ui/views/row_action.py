"""Confirmation page of a row action, and the entities that prevent a removal."""

from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from cloudconsole.operator.entities import ACCOUNTS, PRICES, TENANTS, EntityType
from cloudconsole.operator.errors import OperatorError, OverridableError
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.forms import (
    CANCEL,
    RESTORED_FORM,
    STALE_FORM,
    Problems,
    blank_fields,
    form_problems,
    submitted_fields,
    submitted_texts,
)
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.names import ENTITIES, NOTHING_TO_CHANGE
from cloudconsole.server.admin_ui.page_services import PageServices
from cloudconsole.server.admin_ui.row_actions import ActionRequest, RowAction
from cloudconsole.server.admin_ui.sessions import FormPost, OperatorRequest
from cloudconsole.server.admin_ui.templating import back_of, key_of, link, list_link, parse_query
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.spec.i18n import Text

_OWN_ACCOUNT: Final = Text("You are signed in with this account.", "这是您当前登录的账户。")
_OWN_TENANT: Final = Text("The account with which you are signed in belongs to it.", "您当前登录的账户属于该租户。")


class Dependents(NamedTuple):
    """Entities that prevent a removal, and the page that lists them."""

    number: int
    label: Label
    url: str


def dependents_of(tx: OperatorTransaction, entity: EntityType, key: str) -> list[Dependents]:
    found = []
    for user, count in entity.dependents(tx, key).items():
        names = ENTITIES[user.lower()]
        label = names.one if count == 1 else names.many
        found.append(Dependents(count, label, link(f"{user.lower()}/", **{entity.name: key})))
    return found


def notes_on(tx: OperatorTransaction, action: RowAction, key: str, username: str) -> list[Label]:
    """Return what an operator should know before an action."""
    if action.entity is ACCOUNTS and key == username:
        return [_OWN_ACCOUNT]
    if action.entity is TENANTS and action.verb == "disable" and ACCOUNTS.show(tx, username)["tenant"] == key:
        return [_OWN_TENANT]
    if action.entity is PRICES and action.verb == "remove":
        following = PRICES.after_removal(tx, key)
        return [] if following is None else [following]
    return []


def rejection_of(tx: OperatorTransaction, action: RowAction, key: str) -> OperatorError | None:
    """Return why the action is rejected now, or rejected unless forced."""
    if action.verb not in {"disable", "remove"} & action.entity.overridable:
        return None
    try:
        action.entity.check(replace(tx, keeps_operator=True), action.verb, key)
    except OperatorError as error:
        return error
    return None


class RowActionView:
    def __init__(self, action: RowAction, context: PageServices) -> None:
        self._action = action
        self._context = context

    async def ask(self, request: Request) -> Response:
        visit = await self._context.sessions.require(request)
        return await self._page(request, visit, key_of(parse_query(request)))

    async def do(self, request: Request) -> Response:
        action, context = self._action, self._context
        posted = await context.sessions.receive(request)
        key = key_of(posted.fields)
        if not posted.is_current:
            return await self._page(request, posted.visit, key, posted, submitted_texts(STALE_FORM), 403)
        if CANCEL in posted.fields:
            return await self._page(request, posted.visit, key, posted, status=200)
        order = ActionRequest(posted.visit.session, key, posted.fields, posted.confirmations)
        try:
            done = await context.executor.write(partial(action.run, context.executor, order))
        except OperatorError as error:
            return await self._page(request, posted.visit, key, posted, form_problems(error, action.fields), 422)
        past = action.past(done) if done.changed else NOTHING_TO_CHANGE
        back = back_of(request)
        one = link(f"{action.entity.name}/one/", key=key, back=back)
        page = list_link(action.entity, back) if action.verb == "remove" else one
        return context.done(request, action.entity, done.subject, past, page)

    async def restore(self, request: Request, posted: FormPost) -> Response:
        """Show what was typed before the session ended."""
        key = key_of(posted.fields)
        return await self._page(request, posted.visit, key, posted, submitted_texts(RESTORED_FORM))

    async def _page(
        self,
        request: Request,
        visit: OperatorRequest,
        key: str,
        posted: FormPost | None = None,
        problems: Problems | None = None,
        status: int = 200,
    ) -> Response:
        action = self._action

        def read(tx: OperatorTransaction) -> tuple[Record, list[Dependents], list[Label], OperatorError | None]:
            record, notes = action.entity.show(tx, key), notes_on(tx, action, key, visit.username)
            dependents = dependents_of(tx, action.entity, key) if action.verb == "remove" else []
            return record, dependents, notes, None if dependents else rejection_of(tx, action, key)

        try:
            record, dependents, notes, rejection = await self._context.executor.read(read)
        except OperatorError as missing:
            return await self._context.entity_not_found(request, visit, action.entity, key, missing.message)
        if problems is None:
            problems = Problems() if rejection is None else form_problems(rejection, action.fields)
        fields = blank_fields(action.fields)
        if posted is not None:
            fields = submitted_fields(action.fields, posted.fields, problems)
        return self._context.page(
            "confirm.html",
            request,
            visit,
            status=status,
            entity=action.entity,
            row_action=action,
            key=key,
            fields=fields,
            problems=problems,
            suggestions={},
            dependents=dependents,
            # A question says what follows, too.
            notes=[] if problems.confirmations else notes,
            is_impossible=rejection is not None and not isinstance(rejection, OverridableError),
            may_be_disabled="disable" in action.entity.verbs and not record.get("disabled"),
        )

"""Row actions, such as disable, remove and end, and their confirmation page."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from cloudconsole.core.resources import Role
from cloudconsole.operator.entities import ACCOUNTS, RESOURCES, ChangeResult, EntityType
from cloudconsole.operator.entities.accounts import clear_throttle, throttle_cleared
from cloudconsole.operator.entities.base import NOTHING_TO_CHANGE, PAST_TENSE
from cloudconsole.operator.errors import FieldError, OperatorError, ValidationError, raise_if_invalid
from cloudconsole.operator.password_policy import MINIMUM_LENGTHS, PasswordPolicy
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.database import DatabaseExecutor
from cloudconsole.server.admin_ui.fields import FormField, submitted_value
from cloudconsole.server.admin_ui.forms import (
    STALE_FORM,
    Problems,
    blank_fields,
    form_problems,
    submitted_fields,
    submitted_texts,
)
from cloudconsole.server.admin_ui.page_services import PageServices
from cloudconsole.server.admin_ui.sessions import FormPost, OperatorRequest
from cloudconsole.server.admin_ui.templating import key_of, link, parse_query
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.ip_addresses import forwarded_address, throttle_address
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.session_lookup import Session

PASSWORDS: Final = (
    FormField(
        "password",
        "Password",
        f"at least {MINIMUM_LENGTHS['tenant']} characters, {MINIMUM_LENGTHS['operator']} for operators; "
        "more if configured",
        "password",
        ("password",),
        is_required=True,
    ),
    FormField("password_again", "Repeat the password", "", "password", ("password_again",), is_required=True),
)
ADDRESS: Final = FormField(
    "address",
    "Address",
    "clear only failures from this IP address; all if empty",
    "text",
    ("address",),
)


def new_password(fields: Mapping[str, str], policy: PasswordPolicy, role: Role) -> str:
    """Return the validated new password."""
    raise_if_invalid(password_errors(fields, policy, role))
    return fields["password"]


def password_errors(fields: Mapping[str, str], policy: PasswordPolicy, role: Role) -> Iterator[FieldError]:
    password = fields.get("password", "")
    if problem := policy.problem(password, role):
        yield ("password",), problem
    elif fields.get("password_again", "") != password:
        yield ("password_again",), "differs from the password"


def reset_password(executor: DatabaseExecutor, who: Session, key: str, fields: Mapping[str, str]) -> ChangeResult:
    with executor.reading() as tx:
        role = ACCOUNTS.show(tx, key)["role"]
    # Hashed before the transaction: hashing is slow, and a transaction blocks other writers.
    password_hash = hash_password(new_password(fields, executor.password_policy, role))
    with executor.writing(who) as tx:
        return ACCOUNTS.reset_password(tx, key, password_hash)


def end_sessions(executor: DatabaseExecutor, who: Session, key: str) -> ChangeResult:
    with executor.writing(who) as tx:
        return ACCOUNTS.end_sessions(tx, key)


def clear(executor: DatabaseExecutor, who: Session, key: str, fields: Mapping[str, str]) -> ChangeResult:
    network = _network(fields.get("address", "").strip())
    with executor.activity() as failures:
        with executor.writing(who) as tx:
            done = clear_throttle(tx, failures, key, network)
        failures.commit()
    return done


def _network(text: str) -> str | None:
    if not text:
        return None
    address = forwarded_address(text)
    if address is None:
        raise ValidationError([(("address",), "must be an IP address, such as 192.0.2.1")])
    return throttle_address(address)


ENDED: Final = "ended"
"""State of an ended resource."""


class ActionRequest(NamedTuple):
    """A requested row action."""

    actor: Session
    key: str
    fields: Mapping[str, str]
    force: bool = False


class RowAction(NamedTuple):
    entity: EntityType
    verb: str
    button: str
    description: str
    """Sentence for the confirmation page."""
    past: Callable[[ChangeResult], str]
    """Past tense for the notice."""
    run: Callable[[DatabaseExecutor, ActionRequest], ChangeResult]
    fields: tuple[FormField, ...] = ()
    is_harmless: bool = False
    """Runs without confirmation, since the opposite action undoes it."""

    @property
    def path(self) -> str:
        return f"{self.entity.name}/{self.verb}/"

    @property
    def may_be_forced(self) -> bool:
        return self.verb in self.entity.overridable

    def applies_to(self, record: Record, state: str | None) -> bool:
        """Return whether the action makes sense in this state."""
        if self.verb in ("disable", "enable"):
            is_off = record.get("disabled", not record.get("enabled", True))
            return bool(is_off) is (self.verb == "enable")
        return self.verb != "end" or state != ENDED


_DESCRIPTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("tenant", "disable"): "Its accounts can no longer log in, and their sessions end immediately.",
    ("account", "disable"): "It can no longer log in, and its sessions end immediately.",
    ("node", "disable"): "It accepts no new resources; existing ones stay.",
    ("flavor", "disable"): "It is no longer offered to tenants.",
    ("url", "disable"): "It is no longer shown to tenants.",
    ("domain", "disable"): "The domain is taken out of service.",
    ("news", "disable"): "It is withdrawn: tenants no longer see it.",
    ("account", "remove"): "The account is permanently removed, and its sessions end immediately.",
    ("resource", "remove"): "It is removed as if it had never existed. To stop its costs, end it instead.",
    ("resource", "end"): "It counts in the hour of its end, and in no later one.",
    ("quota", "reset"): "All its limits become those of a new tenant.",
}
_BUTTONS: Final = {
    "disable": "Disable",
    "enable": "Enable",
    "end": "End",
    "remove": "Remove",
    "reset": "Reset to the defaults",
}

_END: Final = FormField("at", "End", "time of the end; now if empty", "time", ("ended",))


def row_actions_for(entity: EntityType) -> tuple[RowAction, ...]:
    """Return the actions of an entity type, in display order."""
    plain = tuple(_row_action(entity, verb) for verb in entity.verbs if verb in _BUTTONS)
    return (*_OF_ACCOUNTS, *plain) if entity is ACCOUNTS else plain


def _row_action(entity: EntityType, verb: str) -> RowAction:
    def do(executor: DatabaseExecutor, order: ActionRequest) -> ChangeResult:
        with executor.writing(order.actor, force=order.force) as tx:
            done: ChangeResult = getattr(entity, verb)(tx, order.key)
            return done

    description = _DESCRIPTIONS.get(
        (entity.name, verb), f"The {entity.label} is {PAST_TENSE[verb]}{' for good' if verb == 'remove' else ''}."
    )
    if entity is RESOURCES and verb == "end":
        return RowAction(entity, verb, _BUTTONS[verb], description, _always(PAST_TENSE[verb]), _end, (_END,))
    return RowAction(
        entity, verb, _BUTTONS[verb], description, _always(PAST_TENSE[verb]), do, is_harmless=verb == "enable"
    )


def _always(past: str) -> Callable[[ChangeResult], str]:
    return lambda _done: past


def _end(executor: DatabaseExecutor, order: ActionRequest) -> ChangeResult:
    with executor.writing(order.actor) as tx:
        return RESOURCES.end(tx, order.key, submitted_value(_END, order.fields) or None)


_OF_ACCOUNTS: Final = (
    RowAction(
        ACCOUNTS,
        "password",
        "Reset password",
        "It gets a new password, and its sessions end immediately.",
        _always("password changed, sessions ended"),
        lambda executor, order: reset_password(executor, order.actor, order.key, order.fields),
        PASSWORDS,
    ),
    RowAction(
        ACCOUNTS,
        "end-sessions",
        "End sessions",
        "It is logged out everywhere.",
        _always("sessions ended"),
        lambda executor, order: end_sessions(executor, order.actor, order.key),
    ),
    RowAction(
        ACCOUNTS,
        "clear-throttle",
        "Forget failed logins",
        "Its failed logins are cleared, so that it can log in without waiting (clear-throttle on the command line).",
        throttle_cleared,
        lambda executor, order: clear(executor, order.actor, order.key, order.fields),
        (ADDRESS,),
    ),
)


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
        force = action.may_be_forced and "force" in posted.fields
        order = ActionRequest(posted.visit.session, key, posted.fields, force)
        try:
            done = await context.executor.write(partial(action.run, context.executor, order))
        except OperatorError as error:
            return await self._page(request, posted.visit, key, posted, form_problems(error, action.fields), 422)
        past = action.past(done) if done.changed else NOTHING_TO_CHANGE
        page = (
            link(f"{action.entity.name}/") if action.verb == "remove" else link(f"{action.entity.name}/one/", key=key)
        )
        return context.done(request, action.entity, done.subject, past, page)

    async def _page(
        self,
        request: Request,
        visit: OperatorRequest,
        key: str,
        posted: FormPost | None = None,
        problems: Problems | None = None,
        status: int = 200,
    ) -> Response:
        action, problems = self._action, problems or Problems()

        def read(tx: OperatorTransaction) -> Record:
            return action.entity.show(tx, key)

        try:
            await self._context.executor.read(read)
        except OperatorError as missing:
            return self._context.not_found(request, visit, str(missing))
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
            may_be_forced=problems.may_be_forced and action.may_be_forced,
        )

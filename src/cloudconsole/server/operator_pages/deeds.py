"""What can be done to one thing besides changing its fields: each is asked for on a page of its own."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from cloudconsole.operator.entities import ACCOUNTS, RESOURCES, Done, Noun
from cloudconsole.operator.entities.accounts import throttle_cleared
from cloudconsole.operator.entities.base import PAST
from cloudconsole.operator.serializers import Record
from cloudconsole.server.operator_pages import accounts
from cloudconsole.server.operator_pages.controls import Control, sent
from cloudconsole.server.operator_pages.office import Office
from cloudconsole.store.sessions import Session

ENDED: Final = "ended"
"""The state of a resource that is over."""


class Order(NamedTuple):
    """A deed that was asked for: by whom, of what, with what was typed, and whether rules are overridden."""

    who: Session
    key: str
    fields: Mapping[str, str]
    force: bool = False


class Deed(NamedTuple):
    noun: Noun
    verb: str
    button: str
    told: str
    """What it does, in a sentence."""
    past: Callable[[Done], str]
    """What was done."""
    do: Callable[[Office, Order], Done]
    controls: tuple[Control, ...] = ()
    is_harmless: bool = False
    """Done by a button at once, since doing the contrary undoes it."""

    @property
    def path(self) -> str:
        return f"{self.noun.name}/{self.verb}/"

    @property
    def may_be_forced(self) -> bool:
        return self.verb in self.noun.overridable

    def applies_to(self, record: Record, state: str | None) -> bool:
        """Whether there is anything to do to one in this state."""
        if self.verb in ("disable", "enable"):
            is_off = record.get("disabled", not record.get("enabled", True))
            return bool(is_off) is (self.verb == "enable")
        return self.verb != "end" or state != ENDED


_TOLD: Final[Mapping[tuple[str, str], str]] = {
    ("tenant", "disable"): "Its accounts cannot log in any more, and their sessions end at once.",
    ("account", "disable"): "It cannot log in any more, and its sessions end at once.",
    ("node", "disable"): "It takes no new resources; those on it stay.",
    ("flavor", "disable"): "It is not offered to tenants any more.",
    ("url", "disable"): "It is not shown to tenants any more.",
    ("domain", "disable"): "The domain is taken out of service.",
    ("news", "disable"): "It is withdrawn: tenants do not see it any more.",
    ("account", "remove"): "The account is gone for good, and its sessions end at once.",
    ("resource", "remove"): "It is forgotten as if it had never been. To stop its costs, end it instead.",
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

_END: Final = Control("at", "End", "the moment; now, where it is left empty", "time", ("ended",))


def deeds_of(noun: Noun) -> tuple[Deed, ...]:
    """In the order of its verbs, and those that only accounts have."""
    plain = tuple(_deed(noun, verb) for verb in noun.verbs if verb in _BUTTONS)
    return (*_OF_ACCOUNTS, *plain) if noun is ACCOUNTS else plain


def _deed(noun: Noun, verb: str) -> Deed:
    def do(office: Office, order: Order) -> Done:
        with office.writing(order.who, force=order.force) as desk:
            done: Done = getattr(noun, verb)(desk, order.key)
            return done

    told = _TOLD.get((noun.name, verb), f"The {noun.thing} is {PAST[verb]}{' for good' if verb == 'remove' else ''}.")
    if noun is RESOURCES and verb == "end":
        return Deed(noun, verb, _BUTTONS[verb], told, _always(PAST[verb]), _end, (_END,))
    return Deed(noun, verb, _BUTTONS[verb], told, _always(PAST[verb]), do, is_harmless=verb == "enable")


def _always(past: str) -> Callable[[Done], str]:
    return lambda _done: past


def _end(office: Office, order: Order) -> Done:
    with office.writing(order.who) as desk:
        return RESOURCES.end(desk, order.key, sent(_END, order.fields) or None)


_OF_ACCOUNTS: Final = (
    Deed(
        ACCOUNTS,
        "password",
        "Reset password",
        "It gets another password, and its sessions end at once.",
        _always("password changed, sessions ended"),
        lambda office, order: accounts.reset_password(office, order.who, order.key, order.fields),
        accounts.PASSWORDS,
    ),
    Deed(
        ACCOUNTS,
        "end-sessions",
        "End sessions",
        "It is logged out everywhere, at once.",
        _always("sessions ended"),
        lambda office, order: accounts.end_sessions(office, order.who, order.key),
    ),
    Deed(
        ACCOUNTS,
        "clear-throttle",
        "Forget failed logins",
        "Its failed logins are forgotten, so that it need not wait any longer (clear-throttle on the command line).",
        throttle_cleared,
        lambda office, order: accounts.clear(office, order.who, order.key, order.fields),
        (accounts.ADDRESS,),
    ),
)

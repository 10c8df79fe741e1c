"""What has been found out about a console so far. Everything is asked once, when a check first wants to know it."""

from collections.abc import Callable
from functools import partial
from secrets import token_hex
from typing import Any, Final, NamedTuple, TypeVar, cast

from cloudconsole.conformance.checks import Failed, Skipped
from cloudconsole.conformance.reading import content_of, is_success, told
from cloudconsole.conformance.sending import Answer, NoAnswer, Sender, Unreachable
from cloudconsole.conformance.showing import shown
from cloudconsole.conformance.visitor import Account, BodyForm, Visitor
from cloudconsole.spec.actions import ACTIONS, GET_DOMAIN_DETAIL

Found = TypeVar("Found")

FORMS: Final[tuple[BodyForm, ...]] = ("JSON", "form")
ACTION_NAMES: Final = tuple(action.name for action in ACTIONS)
OBJECTS: Final = ("GetUsageLimits", "GetFlavors", "GetDomainDetail")
"""The actions whose `data` is an object; that of the others is an array."""


class Subject(NamedTuple):
    """What was given to the command."""

    base: str
    region: str
    account: Account
    other: Account | None = None
    domains: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """What a browser on this server's own pages would send as Origin."""
        scheme, _, rest = self.base.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"


class Working(NamedTuple):
    """An action that was successful, with the body form and the fields that made it so."""

    action: str
    form: BodyForm
    fields: dict[str, str]
    answer: Answer


class Examination:
    def __init__(self, subject: Subject, sender: Sender) -> None:
        self.subject = subject
        self.sender = sender
        self.main = self.newcomer()
        """Who opens, logs in and calls every action; no check ends this session."""
        self._known: dict[str, Any] = {}
        self._to_log_out: list[Visitor] = [self.main]

    def newcomer(self) -> Visitor:
        return Visitor(self.sender, self.subject.region)

    def once(self, name: str, find_out: Callable[[], Found]) -> Found:
        """What `find_out` gives or raises, the first time as ever after."""
        if name not in self._known:
            try:
                self._known[name] = find_out()
            except (NoAnswer, Failed, Skipped) as problem:
                self._known[name] = problem
        found = self._known[name]
        if isinstance(found, Exception):
            raise found
        return cast(Found, found)

    def knock(self) -> None:
        """Whether there is anybody at all; raises `Unreachable` if not. What else may be wrong, checks will tell."""
        try:
            self._open()
        except Unreachable:
            raise
        except NoAnswer:
            return

    # The three steps

    @property
    def opened(self) -> Answer:
        return self._open()

    @property
    def before_login(self) -> Visitor:
        """The jar as it was between the first step and the second."""
        self._open()
        return self.once("before login", self.main.twin)

    @property
    def logged_in(self) -> Answer:
        return self._log_in()

    def _open(self) -> Answer:
        return self.once("opened", self.main.open)

    def _log_in(self) -> Answer:
        self._open()
        self.once("before login", self.main.twin)
        return self.once("logged in", lambda: self.main.login(self.subject.account))

    def answer(self, action: str, form: BodyForm) -> Answer:
        """An action's answer to the main visitor, who has logged in."""
        self._log_in()
        fields = self.fields(action)
        return self.once(f"{action} {form}", lambda: self.main.call(action, form, fields))

    def fields(self, action: str) -> dict[str, str]:
        if action != GET_DOMAIN_DETAIL.name:
            return {}
        if not self.subject.domains:
            raise Skipped("no domain's id was given (--domain-id)")
        return {"domainId": self.subject.domains[0]}

    # What follows from them

    def success(self, action: str) -> Working:
        """A successful call of an action, in the first body form that gets one."""
        seen = []
        for form in FORMS:
            try:
                answer = self.answer(action, form)
            except NoAnswer as problem:
                seen.append(f"{form}: {problem}")
                continue
            if is_success(answer):
                self.sender.prove(self.subject.account.username)
                return Working(action, form, self.fields(action), answer)
            seen.append(f"{form}: {told(answer)}")
        raise Failed("; ".join(seen))

    def working(self) -> list[Working]:
        """All actions that are successful; there is one at least, or nothing could be told."""
        found = []
        for action in ACTION_NAMES:
            try:
                found.append(self.success(action))
            except (Failed, Skipped):
                continue
        if not found:
            raise Failed("no action was successful")
        return found

    def payload(self, action: str) -> Any:
        """`data` of an action, of the type that the action's has."""
        data = content_of(self.success(action).answer).get("data")
        if not isinstance(data, dict if action in OBJECTS else list):
            raise Skipped(f"{action} gave no data of its type")
        return data

    def items(self, action: str) -> list[Any]:
        """`data` of an action that lists, where there is something in it."""
        items: list[Any] = self.payload(action)
        if not items:
            raise Skipped(f"{action} gave an empty list")
        return items

    def domains(self) -> list[dict[str, Any]]:
        """Every domain whose id was given."""
        form = self.success("GetDomainDetail").form
        found = [self.payload("GetDomainDetail")]
        for domain in self.subject.domains[1:]:
            call = partial(self.main.call, "GetDomainDetail", form, {"domainId": domain})
            answer = self.once(f"domain {domain}", call)
            if not is_success(answer):
                raise Failed(f"GetDomainDetail of {shown(domain)}: {told(answer)}")
            data = content_of(answer).get("data")
            found.append(data if isinstance(data, dict) else {})
        return found

    @property
    def stranger(self) -> Visitor:
        """Someone who has opened a session, but has not logged in."""
        return self.once("stranger", self._make_stranger)

    def _make_stranger(self) -> Visitor:
        visitor = self.newcomer()
        visitor.open()
        return visitor

    def _logged_in_as(self, account: Account) -> Visitor:
        visitor = self._make_stranger()
        self.will_leave(visitor)
        answer = visitor.login(account)
        called = visitor.call("GetNews")
        if not is_success(called):
            raise Failed(f"another login: {told(answer)}; a call after it: {told(called)}")
        self.sender.prove(account.username)
        return visitor

    @property
    def second(self) -> Visitor:
        """Someone in a session of their own under the same account; checks may end it."""
        return self.once("second session", lambda: self._logged_in_as(self.subject.account))

    def other(self) -> Visitor:
        """Someone of another tenant."""
        if self.subject.other is None:
            raise Skipped("no second account was given (--other-username)")
        account = self.subject.other
        return self.once("other account", lambda: self._logged_in_as(account))

    def will_leave(self, visitor: Visitor) -> None:
        """Someone who may have logged in, and is to be logged out in the end."""
        self._to_log_out.append(visitor)

    @property
    def wrong_login(self) -> tuple[Visitor, Answer]:
        """A login of a user that there is not, by someone who keeps the jar."""

        def log_in() -> tuple[Visitor, Answer]:
            visitor = self._make_stranger()
            # A new name for each run: failures may be counted by name.
            return visitor, visitor.login(Account(f"nobody-{token_hex(6)}", "wrong"))

        return self.once("wrong login", log_in)

    def leave(self) -> None:
        """Log out whoever logged in; a server that knows no logout loses nothing by being asked."""
        for visitor in self._to_log_out:
            if visitor.session and "logged in" in self._known:
                try:
                    visitor.logout()
                except (NoAnswer, Skipped):
                    return

"""Shared context of the checks: facts about the console, found out when a check first needs them."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any, TypeVar, cast

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.client import (
    ACTION_NAMES,
    FORMS,
    OBJECTS,
    Account,
    Anonymous,
    BodyForm,
    ConsoleClient,
    NoResponse,
    Sender,
    Target,
    Unreachable,
    WorkingCall,
)
from cloudconsole.conformance.redaction import quote_value
from cloudconsole.conformance.responses import (
    RawResponse,
    ServerBusy,
    check_not_busy,
    describe_response,
    is_success,
    is_successful,
    lenient_envelope,
)
from cloudconsole.spec.actions import GET_DOMAIN_DETAIL

Found = TypeVar("Found")


class CallContext:
    def __init__(self, subject: Target, sender: Sender) -> None:
        self.target = subject
        self.sender = sender
        self.guests: Anonymous = {}
        """Everybody who may have logged in."""
        self.main = self.new_client()
        """Who opens, logs in and calls every action; no check ends this session."""
        self._known: dict[str, Any] = {}

    def new_client(self) -> ConsoleClient:
        return ConsoleClient(self.sender, self.target.region, guests=self.guests)

    def once(self, name: str, find_out: Callable[[], Found]) -> Found:
        """What `find_out` gives or raises, the first time as ever after."""
        if name not in self._known:
            try:
                self._known[name] = find_out()
            except (NoResponse, CheckFailed, CheckSkipped) as problem:
                self._known[name] = problem
        found = self._known[name]
        if isinstance(found, Exception):
            raise found
        return cast("Found", found)

    def knock(self) -> None:
        """Whether there is anybody at all; raises `Unreachable` if not. What else may be wrong, checks will tell."""
        try:
            self._open()
        except Unreachable:
            raise
        except NoResponse:
            return

    # The three steps

    @property
    def opened(self) -> RawResponse:
        return self._open()

    @property
    def before_login(self) -> ConsoleClient:
        """The jar as it was between the first step and the second."""
        self._open()
        return self.once("before login", self.main.copy)

    @property
    def logged_in(self) -> RawResponse:
        return self._log_in()

    def _open(self) -> RawResponse:
        return self.once("opened", self.main.open)

    def _log_in(self) -> RawResponse:
        self._open()
        self.once("before login", self.main.copy)
        return self.once("logged in", lambda: self.main.login(self.target.account))

    def answer(self, action: str, form: BodyForm) -> RawResponse:
        """An action's answer to the main visitor, who has logged in."""
        self._log_in()
        fields = self.fields(action)
        return self.once(f"{action} {form}", lambda: self.main.call(action, form, fields))

    def fields(self, action: str) -> dict[str, str]:
        if action != GET_DOMAIN_DETAIL.name:
            return {}
        if not self.target.domains:
            raise CheckSkipped("no domain's id was given (--domain-id)")
        return {"domainId": self.target.domains[0]}

    # What follows from them

    def success(self, action: str) -> WorkingCall:
        """A successful call of an action, in the first body form that gets one."""
        seen, limited = [], None
        for form in FORMS:
            try:
                response = self.answer(action, form)
            except NoResponse as problem:
                seen.append(f"{form}: {problem}")
                continue
            if is_success(response):
                working = WorkingCall(action, form, self.fields(action), response)
                self._prove_by(working)
                return working
            limited = response if response.status == 429 else limited
            seen.append(f"{form}: {describe_response(response)}")
        if limited is not None:
            check_not_busy(limited)
        raise CheckFailed("; ".join(seen))

    def successes(self, action: str) -> list[WorkingCall]:
        """The same in every body form that gets one."""
        found = [self.success(action)]
        for form in FORMS[FORMS.index(found[0].form) + 1 :]:
            try:
                response = self.answer(action, form)
            except NoResponse:
                continue
            if is_success(response):
                found.append(found[0]._replace(form=form, answer=response))
        return found

    def working(self) -> list[WorkingCall]:
        """All actions that are successful; there is one at least, or nothing could be told."""
        found = []
        for action in ACTION_NAMES:
            try:
                found.append(self.success(action))
            except (CheckFailed, CheckSkipped):
                continue
        if not found:
            raise CheckFailed("no action was successful")
        return found

    # Who has logged in, and who has not

    @property
    def anonymous(self) -> ConsoleClient:
        """Someone who has opened a session, but has not logged in."""
        return self.once("stranger", self.new_open_client)

    def new_open_client(self) -> ConsoleClient:
        visitor = self.new_client()
        visitor.open()
        return visitor

    def anonymous_response(self, working: WorkingCall) -> RawResponse:
        """What a stranger is answered to a call that is successful for the main visitor."""
        action, form, fields, _ = working
        return self.once(f"stranger: {action} {form}", lambda: self.anonymous.call(action, form, fields))

    def telling(self) -> WorkingCall:
        """A call that tells who has logged in: strangers have been seen to be refused it."""
        for working in self.working():
            # A domain is found for its own tenant only, whoever else has logged in.
            if working.action != GET_DOMAIN_DETAIL.name and self._is_refused_to_stranger(working):
                return working
        raise CheckSkipped("no action tells who has logged in from a stranger")

    def _is_refused_to_stranger(self, working: WorkingCall) -> bool:
        try:
            return not is_successful(self.anonymous_response(working))
        except (NoResponse, ServerBusy):
            return False

    def _prove_by(self, working: WorkingCall) -> None:
        """That an action is successful says nothing of the password if a stranger may call it, too."""
        username = self.target.account.username
        if not self.sender.budget.is_proven(username) and self._is_refused_to_stranger(working):
            self.sender.budget.prove(username)


class CheckContext(CallContext):
    # Other logins than the main visitor's

    def _logged_in_as(self, account: Account) -> ConsoleClient:
        action, form, fields, _ = self.telling()
        visitor = self.new_open_client()
        response = visitor.login(account)
        called = visitor.call(action, form, fields)
        if not is_successful(called):
            raise CheckFailed(
                f"another login: {describe_response(response)}; a call after it: {describe_response(called)}"
            )
        self.sender.budget.prove(account.username)
        return visitor

    @property
    def second(self) -> ConsoleClient:
        """Someone in a session of their own under the same account; checks may end it."""
        return self.once("second session", lambda: self._logged_in_as(self.target.account))

    def other(self) -> ConsoleClient:
        """Someone of another tenant."""
        if self.target.other is None:
            raise CheckSkipped("no second account was given (--other-username)")
        account = self.target.other
        return self.once("other account", lambda: self._logged_in_as(account))

    @property
    def wrong_login(self) -> tuple[ConsoleClient, RawResponse]:
        """A login of a user that there is not, by someone who keeps the jar."""

        def log_in() -> tuple[ConsoleClient, RawResponse]:
            visitor = self.new_open_client()
            # A new name for each run: failures may be counted by name.
            return visitor, visitor.login(Account(f"nobody-{token_hex(6)}", "wrong"))

        return self.once("wrong login", log_in)

    def login_without(self, field: str) -> tuple[ConsoleClient, RawResponse]:
        """A login that is right but for a field that it lacks."""

        def log_in() -> tuple[ConsoleClient, RawResponse]:
            visitor = self.new_open_client()
            return visitor, visitor.login(self.target.account, **{field: None})

        return self.once(f"login without {field}", log_in)

    def leave(self) -> None:
        """Log out whoever may have logged in; a server that knows no logout loses nothing by being asked."""
        self.sender.budget.leave()
        for visitor in list(self.guests.values()):
            with suppress(NoResponse, CheckSkipped):
                visitor.logout()

    # What the answers hold

    def payload(self, action: str) -> Any:
        """`data` of an action, of the type that the action's has."""
        return self.payloads(action)[0][1]

    def payloads(self, action: str) -> list[tuple[str, Any]]:
        """The same of every body form; those that differ from the first begin with words that name theirs."""
        found: dict[str, tuple[str, Any]] = {}
        for working in self.successes(action):
            data = lenient_envelope(working.answer).get("data")
            if isinstance(data, dict if action in OBJECTS else list):
                label = f"sent as {working.form}: " if found else ""
                # As text: to Python 1, 1.0 and true are equal.
                found.setdefault(json.dumps(data), (label, data))
        if not found:
            raise CheckSkipped(f"{action} gave no data of its type")
        return list(found.values())

    def items(self, action: str) -> list[Any]:
        """`data` of an action that lists, where there is something in it."""
        items: list[Any] = self.payload(action)
        if not items:
            raise CheckSkipped(f"{action} gave an empty list")
        return items

    def domains(self) -> list[dict[str, Any]]:
        """Every domain whose id was given."""
        form = self.success("GetDomainDetail").form
        found = [self.payload("GetDomainDetail")]
        for domain in self.target.domains[1:]:
            call = partial(self.main.call, "GetDomainDetail", form, {"domainId": domain})
            response = self.once(f"domain {domain}", call)
            if not is_successful(response):
                raise CheckFailed(f"GetDomainDetail of {quote_value(domain)}: {describe_response(response)}")
            data = lenient_envelope(response).get("data")
            found.append(data if isinstance(data, dict) else {})
        return found

    def domains_by_form(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Likewise for every body form; of the second only the first domain."""
        _, *others = self.payloads("GetDomainDetail")
        return [("", self.domains()), *((label, [domain]) for label, domain in others)]

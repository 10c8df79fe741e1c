"""What has been found out about a console so far: who can log in, and what the answers hold."""

import json
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any

from cloudconsole.conformance.answers import Answer
from cloudconsole.conformance.calling import Calling
from cloudconsole.conformance.checks import Failed, Skipped
from cloudconsole.conformance.reading import content_of, succeeded, told
from cloudconsole.conformance.sending import NoAnswer
from cloudconsole.conformance.showing import shown
from cloudconsole.conformance.subject import OBJECTS
from cloudconsole.conformance.visitor import Account, Visitor


class Examination(Calling):
    # Other logins than the main visitor's

    def _logged_in_as(self, account: Account) -> Visitor:
        action, form, fields, _ = self.telling()
        visitor = self.opened_by_newcomer()
        answer = visitor.login(account)
        called = visitor.call(action, form, fields)
        if not succeeded(called):
            raise Failed(f"another login: {told(answer)}; a call after it: {told(called)}")
        self.sender.budget.prove(account.username)
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

    @property
    def wrong_login(self) -> tuple[Visitor, Answer]:
        """A login of a user that there is not, by someone who keeps the jar."""

        def log_in() -> tuple[Visitor, Answer]:
            visitor = self.opened_by_newcomer()
            # A new name for each run: failures may be counted by name.
            return visitor, visitor.login(Account(f"nobody-{token_hex(6)}", "wrong"))

        return self.once("wrong login", log_in)

    def login_without(self, field: str) -> tuple[Visitor, Answer]:
        """A login that is right but for a field that it lacks."""

        def log_in() -> tuple[Visitor, Answer]:
            visitor = self.opened_by_newcomer()
            return visitor, visitor.login(self.subject.account, **{field: None})

        return self.once(f"login without {field}", log_in)

    def leave(self) -> None:
        """Log out whoever may have logged in; a server that knows no logout loses nothing by being asked."""
        self.sender.budget.leave()
        for visitor in list(self.guests.values()):
            with suppress(NoAnswer, Skipped):
                visitor.logout()

    # What the answers hold

    def payload(self, action: str) -> Any:
        """`data` of an action, of the type that the action's has."""
        return self.payloads(action)[0][1]

    def payloads(self, action: str) -> list[tuple[str, Any]]:
        """The same of every body form; those that differ from the first begin with words that name theirs."""
        found: dict[str, tuple[str, Any]] = {}
        for working in self.successes(action):
            data = content_of(working.answer).get("data")
            if isinstance(data, dict if action in OBJECTS else list):
                label = f"sent as {working.form}: " if found else ""
                # As text: to Python 1, 1.0 and true are equal.
                found.setdefault(json.dumps(data), (label, data))
        if not found:
            raise Skipped(f"{action} gave no data of its type")
        return list(found.values())

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
            if not succeeded(answer):
                raise Failed(f"GetDomainDetail of {shown(domain)}: {told(answer)}")
            data = content_of(answer).get("data")
            found.append(data if isinstance(data, dict) else {})
        return found

    def domains_by_form(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Likewise for every body form; of the second only the first domain."""
        _, *others = self.payloads("GetDomainDetail")
        return [("", self.domains()), *((label, [domain]) for label, domain in others)]

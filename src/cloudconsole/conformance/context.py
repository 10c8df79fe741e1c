"""Shared context of the checks: facts about the console, determined when first needed."""

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
    BodyForm,
    ClientsBySession,
    ConsoleClient,
    Sender,
    Target,
    WorkingCall,
)
from cloudconsole.conformance.connection import NoResponse, Unreachable
from cloudconsole.conformance.field_types import is_integer
from cloudconsole.conformance.redaction import json_line
from cloudconsole.conformance.responses import (
    BUSY,
    RawResponse,
    ServerBusy,
    check_not_busy,
    describe_response,
    is_success,
    is_success_unless_busy,
    lenient_code,
    lenient_envelope,
)
from cloudconsole.spec.actions import GET_DOMAIN_DETAIL
from cloudconsole.spec.errors import ApiError

Outcome = TypeVar("Outcome")


class CallContext:
    def __init__(self, target: Target, sender: Sender) -> None:
        self.target = target
        self.sender = sender
        self.logged_in_clients: ClientsBySession = {}
        """Clients that may have logged in."""
        self.main = self.new_client()
        """The client that opens a session, logs in and calls every action; no check ends its session."""
        self.failed_checks: dict[str, str] = {}
        """The check that failed, by the check that did not pass because of it, itself included."""
        self._outcomes: dict[str, Any] = {}

    def new_client(self) -> ConsoleClient:
        return ConsoleClient(self.sender, self.target.region, logged_in=self.logged_in_clients)

    def once(self, name: str, function: Callable[[], Outcome]) -> Outcome:
        """Run a function once, and return or raise its outcome every time."""
        if name not in self._outcomes:
            try:
                self._outcomes[name] = function()
            except (NoResponse, CheckFailed, CheckSkipped) as problem:
                self._outcomes[name] = problem
        outcome = self._outcomes[name]
        if isinstance(outcome, Exception):
            raise outcome
        return cast("Outcome", outcome)

    def check_reachable(self) -> None:
        """Raise `Unreachable` if nothing responds; other problems are left to the checks."""
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
        """A client with the cookies as they were before the login."""
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

    def response_to(self, action: str, form: BodyForm) -> RawResponse:
        """Return the response to an action of the main client, logged in."""
        self._log_in()
        fields = self.fields(action)
        return self.once(f"{action} {form}", lambda: self.main.call(action, form, fields))

    def fields(self, action: str) -> dict[str, str]:
        if action != GET_DOMAIN_DETAIL.name:
            return {}
        if not self.target.domains:
            raise CheckSkipped("no domain ID was given (--domain-id)")
        return {"domainId": self.target.domains[0]}

    # Successful calls

    def success(self, action: str) -> WorkingCall:
        """Return a successful call of an action, in the first body form that succeeds."""
        failures: list[str] = []
        losses: list[NoResponse] = []
        rate_limited = None
        for form in FORMS:
            try:
                response = self.response_to(action, form)
            except NoResponse as problem:
                losses.append(problem)
                continue
            if is_success(response):
                working = WorkingCall(action, form, self.fields(action), response)
                self._verify_password_by(working)
                return working
            rate_limited = response if response.status == 429 else rate_limited
            failures.append(f"{form}: {describe_response(response)}")
        if rate_limited is not None:
            check_not_busy(rate_limited)
        if not failures:
            raise losses[0]
        raise CheckFailed("; ".join(failures))

    def successes(self, action: str) -> list[WorkingCall]:
        """Return the successful calls of an action, in every body form that succeeds."""
        results = [self.success(action)]
        for form in FORMS[FORMS.index(results[0].form) + 1 :]:
            try:
                response = self.response_to(action, form)
            except NoResponse:
                continue
            if is_success(response):
                results.append(results[0]._replace(form=form, response=response))
        return results

    def working(self) -> list[WorkingCall]:
        """Return a successful call of each action that has one; fail if there are none."""
        results = []
        for action in ACTION_NAMES:
            with suppress(CheckFailed, CheckSkipped, NoResponse):
                results.append(self.success(action))
        if not results:
            raise CheckFailed("no action was successful")
        return results

    # Anonymous clients

    @property
    def anonymous(self) -> ConsoleClient:
        """A client that has opened a session but is not logged in."""
        return self.once("anonymous", self.new_open_client)

    def new_open_client(self) -> ConsoleClient:
        client = self.new_client()
        client.open()
        return client

    def anonymous_response(self, working: WorkingCall) -> RawResponse:
        """Return the response to an anonymous client for a call that succeeds for the main client."""
        action, form, fields, _ = working
        return self.once(f"anonymous: {action} {form}", lambda: self.anonymous.call(action, form, fields))

    def protected_call(self) -> WorkingCall:
        """Return a call that requires a login: it was rejected for an anonymous client."""
        for working in self.working():
            # A domain exists for its own tenant only, so its call fails for other accounts, too.
            if working.action != GET_DOMAIN_DETAIL.name and self._is_rejected_anonymously(working):
                return working
        raise CheckSkipped("no action is known to require a login")

    def _is_rejected_anonymously(self, working: WorkingCall) -> bool:
        try:
            return not is_success_unless_busy(self.anonymous_response(working))
        except (NoResponse, ServerBusy):
            return False

    def _verify_password_by(self, working: WorkingCall) -> None:
        """Verify the password by a successful call, unless an anonymous client may make it, too."""
        username = self.target.account.username
        if not self.sender.limits.is_verified(username) and self._is_rejected_anonymously(working):
            self.sender.limits.verify(username)


class LoginRejected(Exception):
    """The console rejects a given account; the message says how."""


class CheckContext(CallContext):
    # Before the checks

    def check_accounts(self, *, with_other: bool) -> None:
        """Raise `LoginRejected` if the console rejects an account; other problems are left to the checks."""
        with suppress(NoResponse, CheckSkipped):
            response = self.logged_in
            if self.before_login.token and self.before_login.session and self._is_login_rejected(response):
                raise LoginRejected(self._rejection(self.target.account, response))
        if with_other and self.target.other is not None:
            with suppress(NoResponse, CheckSkipped):
                _, response = self._other_login(self.target.other)
                if _is_client_error(response):
                    raise LoginRejected(self._rejection(self.target.other, response))

    def _is_login_rejected(self, response: RawResponse) -> bool:
        """Whether the login was rejected: an error, or a body such as the login form, and no action succeeds."""
        if not (_is_client_error(response) or (response.status < 400 and response.body)):
            return False
        try:
            self.success(ACTION_NAMES[0])
        except CheckFailed:
            return True
        return False

    def _rejection(self, account: Account, response: RawResponse) -> str:
        error = lenient_envelope(response).get("error")
        identifier = f", {error}" if error in {each.error for each in ApiError.__subclasses__()} else ""
        regions = listed_regions(self.opened)
        is_other = regions and self.target.region not in regions
        hint = f"; GET /api/ lists the regions {', '.join(regions)}" if is_other else ""
        return f"{account.username} at {self.target.region}: {describe_response(response)}{identifier}{hint}"

    # Other logins

    def _login_as(self, account: Account) -> tuple[ConsoleClient, RawResponse]:
        client = self.new_open_client()
        return client, client.login(account)

    def _other_login(self, account: Account) -> tuple[ConsoleClient, RawResponse]:
        return self.once("other login", lambda: self._login_as(account))

    def _logged_in_as(self, account: Account) -> ConsoleClient:
        action, form, fields, _ = self.protected_call()
        is_other = account == self.target.other
        client, response = self._other_login(account) if is_other else self._login_as(account)
        called = client.call(action, form, fields)
        if not is_success_unless_busy(called):
            raise CheckFailed(
                f"another login: {describe_response(response)}; a call after it: {describe_response(called)}"
            )
        self.sender.limits.verify(account.username)
        return client

    @property
    def second(self) -> ConsoleClient:
        """A client in a second session of the same account; checks may end it."""
        return self.once("second session", lambda: self._logged_in_as(self.target.account))

    def other(self) -> ConsoleClient:
        """Return a client of another tenant."""
        if self.target.other is None:
            raise CheckSkipped("no second account was given (--other-username)")
        account = self.target.other
        return self.once("other account", lambda: self._logged_in_as(account))

    @property
    def wrong_login(self) -> tuple[ConsoleClient, RawResponse]:
        """A client that tried to log in as an unknown user, and the response."""

        def log_in() -> tuple[ConsoleClient, RawResponse]:
            client = self.new_open_client()
            # A new name for each run: consoles may count failures by name.
            return client, client.login(Account(f"nobody-{token_hex(6)}", "wrong"))

        return self.once("wrong login", log_in)

    @property
    def wrong_password(self) -> tuple[ConsoleClient, RawResponse]:
        """A client with a session in which a login with a wrong password was tried, as before it, and the response."""

        def log_in() -> tuple[ConsoleClient, RawResponse]:
            # First: a wrong password of the other account uses up one of the few wrong logins.
            with suppress(CheckFailed, CheckSkipped, NoResponse):
                self.other()
            account = self.target.account
            client = self._logged_in_as(account)
            before = client.copy()
            return before, client.login(account._replace(password=f"{account.password}-wrong"))

        return self.once("wrong password", log_in)

    def login_without(self, field: str) -> tuple[ConsoleClient, RawResponse]:
        """Log in with right credentials but without one field."""

        def log_in() -> tuple[ConsoleClient, RawResponse]:
            client = self.new_open_client()
            return client, client.login(self.target.account, **{field: None})

        return self.once(f"login without {field}", log_in)

    def log_out_all(self) -> None:
        """Log out all clients that may have logged in, even if the server may not support logout."""
        self.sender.limits.begin_logouts()
        for client in list(self.logged_in_clients.values()):
            with suppress(NoResponse, CheckSkipped):
                client.logout()

    # Payloads

    def payload(self, action: str) -> Any:
        """Return the `data` of an action, if it has the right type."""
        return self.payloads(action)[0][1]

    def payloads(self, action: str) -> list[tuple[str, Any]]:
        """Return the distinct payloads of all body forms, each with a label that is empty for the first."""
        results: dict[str, tuple[str, Any]] = {}
        for working in self.successes(action):
            data = lenient_envelope(working.response).get("data")
            if isinstance(data, dict if action in OBJECTS else list):
                label = f"sent as {working.form}: " if results else ""
                # Compared as text: in Python 1, 1.0 and True are equal.
                results.setdefault(json.dumps(data), (label, data))
        if not results:
            raise CheckSkipped(f"{action} returned no data of its type")
        return list(results.values())

    def items(self, action: str) -> list[Any]:
        """Return the `data` of a list action; skip if it is empty."""
        items: list[Any] = self.payload(action)
        if not items:
            raise CheckSkipped(f"{action} returned an empty list")
        return items

    def domains(self) -> list[dict[str, Any]]:
        """Return every domain given by ID."""
        form = self.success("GetDomainDetail").form
        results = [self.payload("GetDomainDetail")]
        for domain in self.target.domains[1:]:
            call = partial(self.main.call, "GetDomainDetail", form, {"domainId": domain})
            response = self.once(f"domain {domain}", call)
            if not is_success_unless_busy(response):
                raise CheckFailed(f"GetDomainDetail of {json_line(domain)}: {describe_response(response)}")
            data = lenient_envelope(response).get("data")
            results.append(data if isinstance(data, dict) else {})
        return results

    def domains_by_form(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the domains by body form; for the second form only the first domain."""
        _, *others = self.payloads("GetDomainDetail")
        return [("", self.domains()), *((label, [domain]) for label, domain in others)]


def listed_regions(response: RawResponse) -> list[str]:
    """Return the regions that a response to `GET /api/` lists, if it does."""
    data = lenient_envelope(response).get("data")
    regions = data.get("regions") if isinstance(data, dict) else None
    return [region for region in regions if isinstance(region, str)] if isinstance(regions, list) else []


def looks_like_console(response: RawResponse) -> bool:
    """Whether a response to `GET /api/` has anything that the interface specifies: its cookies or an envelope."""
    return bool(response.set_cookies) or "code" in lenient_envelope(response)


def _is_client_error(response: RawResponse) -> bool:
    codes = (response.status, lenient_code(response))
    return any(is_integer(code) and 400 <= code < 500 and code not in BUSY for code in codes)

"""A running test console: its address and accounts, clients of it, and the control of clock, content and faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cloudconsole.testing.flags import moment_text
from cloudconsole.testing.journal import ReceivedRequest, ReceivedRequests

if TYPE_CHECKING:
    import httpx2

    from cloudconsole import AsyncConsole, Console

CALL_SECONDS: Final = 60
PARAMETERS: Final = {
    "now": "moment",
    "advance": "by",
    "retryAfter": "retry_after",
    "replace": "content",
    "add": "content",
}
"""Parameters of the methods below whose fields of control requests have other names."""


class ServerNotStarted(Exception):
    """The console could not be started, or it does not respond."""


class ConsoleServer:
    """A console running in test mode, with control of its clock, content and faults."""

    def __init__(
        self, address: str, region: str, data: Path, accounts: Mapping[str, str], *, listens: str | None = None
    ) -> None:
        """Send control requests to `listens` if it differs from `address`."""
        self.address = address
        """Base URL for clients, such as `http://127.0.0.1:43211`."""
        self.region = region
        """The region to send at login."""
        self.data = data
        """Its store: changes by `cloudconsole admin --data` take effect at once and are undone by the next reset."""
        self.accounts = dict(accounts)
        """Passwords by username."""
        self._initial_accounts = dict(accounts)
        self._listens = listens or address

    @property
    def username(self) -> str:
        """The first account's username."""
        if not self.accounts:
            raise ValueError("no account: pass accounts={username: password} together with your cloud file")
        return next(iter(self.accounts))

    @property
    def password(self) -> str:
        """The first account's password."""
        return self.accounts[self.username]

    def client(self, username: str | None = None, **options: Any) -> Console:
        """Return a client for an account, by default the first; `options` are those of `Console`.

        Close it, or use it in a `with` block.
        """
        from cloudconsole import Console

        return Console(self.address, **{"transport": self.transport(), **self._login_of(username), **options})

    def async_client(self, username: str | None = None, **options: Any) -> AsyncConsole:
        """Return an asynchronous client for an account, by default the first.

        It leaves no connection open, so that it may outlive the event loop of a test.
        """
        from cloudconsole import AsyncConsole

        transport = self.async_transport()
        return AsyncConsole(self.address, **{"transport": transport, **self._login_of(username), **options})

    def transport(self) -> httpx2.BaseTransport:
        """Return a transport to this console for a client of httpx2, regardless of proxy variables."""
        from httpx2 import HTTPTransport

        return HTTPTransport(trust_env=False)

    def async_transport(self) -> httpx2.AsyncBaseTransport:
        """Return a transport to this console for an asynchronous client of httpx2; it keeps no connection open."""
        from httpx2 import AsyncHTTPTransport, Limits

        return AsyncHTTPTransport(trust_env=False, limits=Limits(max_keepalive_connections=0))

    def reset(self) -> None:
        """Restore content, sessions, failed-login counts, clock and tokens; clear all faults and the journal."""
        self._send("POST", "reset")
        self.accounts = dict(self._initial_accounts)

    @property
    def requests(self) -> ReceivedRequests:
        """The latest 1000 requests received since the last reset or `clear_requests()`, oldest first."""
        return ReceivedRequests(msgspec.convert(self._send("GET", "requests")["requests"], list[ReceivedRequest]))

    def clear_requests(self) -> None:
        """Remove the received requests from the journal."""
        self._send("POST", "requests", {"clear": True})

    def load(self, content: Mapping[str, Any]) -> None:
        """Replace sections of the content until the next reset, such as `{"news": []}`.

        `content` has sections of a cloud file. What it does not name stays. A tenant of the same name keeps the fields
        that are not given, and quotas those that are not given. Accounts may have a `password`.
        """
        self._change_content("replace", content)

    def add(self, content: Mapping[str, Any]) -> None:
        """Add to the content until the next reset; as `load`, but items of lists are added to those there are."""
        self._change_content("add", content)

    def now(self) -> datetime:
        """Return the console's time."""
        return datetime.fromisoformat(self._send("GET", "clock")["now"])

    def set_clock(self, moment: datetime | str, *, fixed: bool | None = None) -> datetime:
        """Set the clock and return the console's time; `fixed` stops or starts it, by default it stays as it is."""
        return self._change_clock(now=moment_text("moment", moment), fixed=fixed)

    def advance(self, by: timedelta | float) -> datetime:
        """Advance the clock, in seconds or as a timedelta, and return the new time."""
        if isinstance(by, bool) or not isinstance(by, timedelta | int | float):
            raise TypeError("by must be a number of seconds or a timedelta")
        return self._change_clock(advance=by.total_seconds() if isinstance(by, timedelta) else by)

    def fix_clock(self) -> datetime:
        """Stop the clock and return its time."""
        return self._change_clock(fixed=True)

    def run_clock(self) -> datetime:
        """Let the clock run again and return its time."""
        return self._change_clock(fixed=False)

    def fault(
        self,
        error: str | None = None,
        *,
        status: int | None = None,
        drop: bool = False,
        delay: float | None = None,
        times: int = 1,
        call: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        """Make the next `times` calls fail: with an API error, a bare status or a dropped connection.

        `delay` waits this many seconds first, or is the only fault. `call` is an action's name, `login`, `logout` or
        `welcome`.
        """
        if not (error or status or drop or delay):
            raise ValueError("fault needs an error, a status, drop or a delay")
        fault = {"error": error, "status": status, "drop": drop or None, "delay": delay, "times": times, "call": call}
        self._send("POST", "fault", {**fault, "retryAfter": retry_after})

    def faults(self) -> list[dict[str, Any]]:
        """Return the pending faults."""
        pending: list[dict[str, Any]] = self._send("GET", "fault")["faults"]
        return pending

    def clear_faults(self) -> None:
        """Remove the pending faults."""
        self._send("POST", "fault", {"clear": True})

    def _login_of(self, username: str | None) -> dict[str, str]:
        username = self.username if username is None else username
        if username not in self.accounts:
            raise ValueError(f"no password of an account {username!r}; known: {', '.join(self.accounts) or 'none'}")
        return {"region": self.region, "username": username, "password": self.accounts[username]}

    def _change_content(self, how: str, content: Mapping[str, Any]) -> None:
        if not isinstance(content, Mapping):
            raise TypeError('content must be a mapping with sections of a cloud file, such as {"news": []}')
        self._send("POST", "content", {how: content})
        self.accounts.update(_passwords(content))

    def _change_clock(self, **fields: Any) -> datetime:
        return datetime.fromisoformat(self._send("POST", "clock", fields)["now"])

    def _send(self, method: str, control: str, fields: Mapping[str, Any] | None = None) -> Any:
        try:
            body = msgspec.json.encode(fields) if fields else b""
        except (TypeError, ValueError, UnicodeEncodeError) as problem:
            raise TypeError(f"an argument cannot be sent as JSON: {problem}") from None
        try:
            response = msgspec.json.decode(self._exchange(method, f"/_test/{control}", body))
            code, message, data = response["code"], response["message"], response["data"]
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as problem:
            raise ServerNotStarted(f"the console at {self._listens} does not respond: {problem}") from problem
        if 400 <= code <= 499:
            field = response.get("field")
            raise ValueError(message.replace(f"The field '{field}'", PARAMETERS.get(field, field), 1))
        if code != 200:
            raise ServerNotStarted(message)
        return data

    def _exchange(self, method: str, path: str, body: bytes) -> bytes:
        """Send a control request and return the body of the response."""
        # Not the client's HTTP library, which a test may replace; http.client also ignores proxy variables.
        connection = HTTPConnection(self._listens.partition("//")[2], timeout=CALL_SECONDS)
        try:
            connection.request(method, path, body or None, {"Content-Type": "application/json"})
            return connection.getresponse().read()
        finally:
            connection.close()


def _passwords(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the passwords of accounts in valid content."""
    tenants: Sequence[Mapping[str, Any]] = content.get("tenants", ())
    accounts = [account for tenant in tenants for account in tenant.get("accounts", ())]
    return {account["username"]: account["password"] for account in accounts if "password" in account}

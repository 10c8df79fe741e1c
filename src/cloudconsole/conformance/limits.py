"""Limits of a run: requests, failed logins and time."""

import json
from collections import Counter
from collections.abc import Mapping
from time import monotonic
from typing import Final
from urllib.parse import parse_qs

from cloudconsole.conformance.assertions import CheckSkipped

MAX_REQUESTS: Final = 399
"""All checks of a conforming console need about two thirds of it, those of the interface an eighth."""
MAX_WRONG_LOGINS: Final = 2
MAX_UNANSWERED: Final = 3
"""Consecutive requests without a response before the run stops sending: each would wait for its timeout."""
MAX_RUN_SECONDS: Final = 300.0
MAX_LOGOUT_SECONDS: Final = 30.0
"""Seconds for all logouts at the end of the run."""
LOGIN_PATH: Final = "/auth/login/"


class LimitExceeded(CheckSkipped):
    """The request was not sent because it would exceed a limit."""


class RunLimits:
    def __init__(self, accounts: Mapping[str, str]) -> None:
        self.requests = 0
        self.wrong_logins = 0
        self.reserved_logouts = 0
        """Requests reserved for logouts."""
        self.unanswered = 0
        self._accounts = accounts
        self._verified: set[str] = set()
        self._unverified: Counter[str] = Counter()
        self._is_logging_out = False
        self._deadline = monotonic() + MAX_RUN_SECONDS

    @property
    def remaining_seconds(self) -> float:
        """The remaining time."""
        return max(self._deadline - monotonic(), 0.0)

    def spend(self, method: str, path: str, body: bytes) -> None:
        """Count a request; raise `LimitExceeded` if it may not be sent."""
        if self.requests + (0 if self._is_logging_out else self.reserved_logouts) >= MAX_REQUESTS:
            raise LimitExceeded(f"not sent: the limit of {MAX_REQUESTS} requests is reached")
        if self.unanswered >= MAX_UNANSWERED:
            raise LimitExceeded(f"not sent: the last {MAX_UNANSWERED} requests got no response")
        if not self.remaining_seconds:
            raise LimitExceeded(f"not sent: the time limit of {MAX_RUN_SECONDS:.0f} s for the whole run is over")
        if (method, path) == ("POST", LOGIN_PATH):
            self._spend_login(body)
        self.requests += 1

    def is_verified(self, username: str) -> bool:
        return username in self._verified

    def verify(self, username: str) -> None:
        """Record that the given password is right: logins with it do not count as wrong."""
        self._verified.add(username)
        self.wrong_logins -= self._unverified.pop(username, 0)

    def begin_logouts(self) -> None:
        """Allow only logouts from now on."""
        self._is_logging_out, self.unanswered = True, 0
        self._deadline = monotonic() + MAX_LOGOUT_SECONDS

    def _spend_login(self, body: bytes) -> None:
        username = self._account_of(body)
        if username not in self._verified:
            if self.wrong_logins >= MAX_WRONG_LOGINS:
                raise LimitExceeded(f"not sent: the limit of {MAX_WRONG_LOGINS} wrong logins is reached")
            self.wrong_logins += 1
            if username is not None:
                self._unverified[username] += 1

    def _account_of(self, body: bytes) -> str | None:
        """Return the given account whose name and password a login uses; any other login counts as wrong."""
        try:
            fields = json.loads(body)
        except ValueError:
            fields = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        if not isinstance(fields, dict):
            return None
        username, password = fields.get("username"), fields.get("password")
        matches = isinstance(username, str) and password is not None and self._accounts.get(username) == password
        return username if matches else None

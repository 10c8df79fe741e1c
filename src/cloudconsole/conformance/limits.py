"""How much a run may ask of a server: so many requests, so few wrong logins, so much time."""

import json
from collections import Counter
from collections.abc import Mapping
from time import monotonic
from typing import Final
from urllib.parse import parse_qs

from cloudconsole.conformance.assertions import CheckSkipped

MOST_REQUESTS: Final = 199
MOST_WRONG_LOGINS: Final = 2
MOST_UNANSWERED: Final = 3
"""After so many requests in a row without an answer no more are made: each would take its whole time again."""
LONGEST_RUN: Final = 300.0
LONGEST_FAREWELL: Final = 30.0
"""Seconds for all logouts, which come after everything else."""
LOGIN_PATH: Final = "/auth/login/"


class LimitExceeded(CheckSkipped):
    """The request was not made: it would have been one too many."""


class RunLimits:
    def __init__(self, accounts: Mapping[str, str]) -> None:
        self.requests = 0
        self.wrong_logins = 0
        self.farewells = 0
        """Requests that are kept back for logging out."""
        self.unanswered = 0
        self._accounts = accounts
        self._proven: set[str] = set()
        self._unproven: Counter[str] = Counter()
        self._is_leaving = False
        self._ends = monotonic() + LONGEST_RUN

    @property
    def seconds(self) -> float:
        """How much time is left."""
        return max(self._ends - monotonic(), 0.0)

    def spend(self, method: str, path: str, body: bytes) -> None:
        """Raises `OverBudget` where there may be no such request any more."""
        if self.requests + (0 if self._is_leaving else self.farewells) >= MOST_REQUESTS:
            raise LimitExceeded(f"not asked: no more than {MOST_REQUESTS} requests are made")
        if self.unanswered >= MOST_UNANSWERED:
            raise LimitExceeded(f"not asked: the last {MOST_UNANSWERED} requests got no answer")
        if not self.seconds:
            raise LimitExceeded(f"not asked: {LONGEST_RUN:.0f} s are over, which all may take together")
        if (method, path) == ("POST", LOGIN_PATH):
            self._spend_login(body)
        self.requests += 1

    def is_proven(self, username: str) -> bool:
        return username in self._proven

    def prove(self, username: str) -> None:
        """The password that was given for this user is right: logins with it were no wrong ones after all."""
        self._proven.add(username)
        self.wrong_logins -= self._unproven.pop(username, 0)

    def leave(self) -> None:
        """From now on there are only logouts."""
        self._is_leaving, self.unanswered = True, 0
        self._ends = monotonic() + LONGEST_FAREWELL

    def _spend_login(self, body: bytes) -> None:
        username = self._whose(body)
        if username not in self._proven:
            if self.wrong_logins >= MOST_WRONG_LOGINS:
                raise LimitExceeded(f"not asked: {MOST_WRONG_LOGINS} wrong logins have been made, and no more are")
            self.wrong_logins += 1
            if username is not None:
                self._unproven[username] += 1

    def _whose(self, body: bytes) -> str | None:
        """The account whose name and password, as given, a login has. Others are wrong, whatever else ails them."""
        try:
            fields = json.loads(body)
        except ValueError:
            fields = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        if not isinstance(fields, dict):
            return None
        username, password = fields.get("username"), fields.get("password")
        is_given = isinstance(username, str) and password is not None and self._accounts.get(username) == password
        return username if is_given else None

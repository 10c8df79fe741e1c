"""Whether failed logins were counted right, over all replicas: ten within five minutes, and then no more."""

from collections.abc import Iterable
from typing import Final

from history.recording import AnyOperation, Login

FAILURES: Final = 10
WINDOW_SECONDS: Final = 300
SLACK_SECONDS: Final = 2
"""Failures are counted by whole seconds."""


class Throttling:
    """All logins of a recording; each account's come from one address."""

    def __init__(self, operations: Iterable[AnyOperation]) -> None:
        self._logins: dict[str, list[Login]] = {}
        for operation in operations:
            if isinstance(operation, Login):
                self._logins.setdefault(operation.account, []).append(operation)

    def fault_of(self, login: Login) -> str | None:
        """What is wrong with how a login was throttled, or not."""
        if login.answer.status == 429:
            return self._throttled_too_early(login)
        if login.answer.status == 401:
            return self._throttled_too_late(login)
        return None

    def _throttled_too_early(self, login: Login) -> str | None:
        since = login.begin - WINDOW_SECONDS - SLACK_SECONDS
        failures = sum(
            (other.answer.status == 401 or other.answer.is_unknown) and other.begin < login.end and other.end > since
            for other in self._logins[login.account]
        )
        return None if failures >= FAILURES else f"throttled after {failures} failures"

    def _throttled_too_late(self, login: Login) -> str | None:
        """Only where nobody ever got in, or may have: that forgets what was counted."""
        logins = self._logins[login.account]
        if any(other.answer.status == 200 for other in logins):
            return None
        since = login.end - WINDOW_SECONDS + SLACK_SECONDS
        failures = sum(
            other.answer.status == 401 and other.begin > since and other.end <= login.end for other in logins
        )
        return None if failures <= FAILURES else f"not throttled: failure {failures} within {WINDOW_SECONDS} s"

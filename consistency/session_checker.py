"""Check sessions, logins and login throttling."""

from collections.abc import Iterable
from typing import Final

from consistency.history import AnyOperation, Login, Logout, Read
from consistency.model import Model, Session

LEASE_SECONDS: Final = 0.6
"""How long other replicas may serve the old state of a change that was not acknowledged."""

THROTTLE_FAILURES: Final = 10
THROTTLE_SECONDS: Final = 300
THROTTLE_SLACK_SECONDS: Final = 2
"""Failures are counted by whole seconds."""


class SessionChecker:
    """Checks that sessions are accepted until they end, and rejected afterwards."""

    def __init__(self, model: Model, operations: Iterable[AnyOperation]) -> None:
        self._model = model
        self._rejected: dict[str, float] = {}
        """When each session was first rejected; a rejected session must stay rejected."""
        for used in operations:
            if isinstance(used, Read | Logout) and used.response.status == 401:
                self._rejected[used.session] = min(used.end, self._rejected.get(used.session, used.end))

    def check_use(self, used: Read | Logout) -> str | None:
        """Return what is wrong with how a session was accepted or rejected."""
        session = self._model.session(used.session)
        if used.response.status == 401:
            return None if self._may_have_ended(session, used) else "valid session rejected"
        if used.response.status == 200:
            return self._certain_end(session, used)
        return None

    def _may_have_ended(self, session: Session, used: Read | Logout) -> bool:
        opened = session.opened
        by_account = any(
            effect.begin < used.end and effect.end > opened.begin
            for effect in self._model.account_effects(opened.account)
        )
        return by_account or any(logout is not used and logout.begin < used.end for logout in session.logouts)

    def _certain_end(self, session: Session, used: Read | Logout) -> str | None:
        """Return what had certainly ended a session before it was used."""
        opened, begin = session.opened, used.begin
        for logout in session.logouts:
            if logout is not used and logout.response.status == 200 and logout.end <= begin:
                return (
                    f"session accepted {begin - logout.end:.3f} s after its logout was acknowledged at {logout.end:.3f}"
                )
        for effect in self._model.account_effects(opened.account):
            if effect.certain and effect.begin >= opened.end and effect.end <= begin:
                return (
                    f"session accepted {begin - effect.end:.3f} s after the change of its account to {effect.value} "
                    "was acknowledged"
                )
        rejected = self._rejected.get(used.session, begin)
        if rejected + LEASE_SECONDS < begin:
            return f"session accepted {begin - rejected:.3f} s after it was rejected"
        return None

    def check_login(self, login: Login) -> str | None:
        """Return what is wrong with the outcome of a login."""
        if login.response.status not in (200, 401):
            return None
        accepted = login.response.status == 200
        for value, since, until in self._model.account_versions(login.account):
            if since <= login.end and until > login.begin:
                is_valid = bool(value) and not value["disabled"] and value["password"] == login.password
                if is_valid == accepted:
                    return None
        return "login accepted with invalid credentials" if accepted else "login rejected with valid credentials"


class ThrottleChecker:
    """Checks that failed logins are counted across all replicas; each account logs in from its own address."""

    def __init__(self, operations: Iterable[AnyOperation]) -> None:
        self._logins: dict[str, list[Login]] = {}
        for operation in operations:
            if isinstance(operation, Login):
                self._logins.setdefault(operation.account, []).append(operation)

    def check_login(self, login: Login) -> str | None:
        """Return what is wrong with how a login was throttled, or not throttled."""
        if login.response.status == 429:
            return self._throttled_too_early(login)
        if login.response.status == 401:
            return self._throttled_too_late(login)
        return None

    def _throttled_too_early(self, login: Login) -> str | None:
        since = login.begin - THROTTLE_SECONDS - THROTTLE_SLACK_SECONDS
        failures = sum(
            (other.response.status == 401 or other.response.is_unknown)
            and other.begin < login.end
            and other.end > since
            for other in self._logins[login.account]
        )
        return None if failures >= THROTTLE_FAILURES else f"login throttled after {failures} failures"

    def _throttled_too_late(self, login: Login) -> str | None:
        """Check only accounts without a successful login, which resets the count."""
        logins = self._logins[login.account]
        if any(other.response.status == 200 for other in logins):
            return None
        since = login.end - THROTTLE_SECONDS + THROTTLE_SLACK_SECONDS
        failures = sum(
            other.response.status == 401 and other.begin > since and other.end <= login.end for other in logins
        )
        if failures <= THROTTLE_FAILURES:
            return None
        return f"login not throttled: failure {failures} within {THROTTLE_SECONDS} s"

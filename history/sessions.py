"""Whether a session was accepted that had ended, or refused while it was good; and how logins ended."""

from typing import Final

from history.model import Model, Session
from history.recording import Call, Login, Logout

LEASE_SECONDS: Final = 0.6
"""How long after a change its traces may still be seen elsewhere, where nobody has acknowledged it."""


class Sessions:
    """What is known of every session's life. Refusals must be told first, since a session once refused stays so."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._refused: dict[str, float] = {}
        """When each session was first seen refused."""

    def see(self, used: Call | Logout) -> None:
        """Take note of what a call saw, before any is judged."""
        if used.answer.status == 401:
            self._refused[used.session] = min(used.end, self._refused.get(used.session, used.end))

    def fault_of(self, used: Call | Logout) -> str | None:
        """What is wrong with how a call or a logout was let in."""
        session = self._model.session(used.session)
        if used.answer.status == 401:
            return None if self._may_have_ended(session, used) else "refused, though nothing had ended the session"
        if used.answer.status == 200:
            return self._why_ended(session, used)
        return None

    def _may_have_ended(self, session: Session, used: Call | Logout) -> bool:
        opened = session.opened
        by_account = any(
            effect.begin < used.end and effect.end > opened.begin
            for effect in self._model.account_effects(opened.account)
        )
        return by_account or any(logout is not used and logout.begin < used.end for logout in session.logouts)

    def _why_ended(self, session: Session, used: Call | Logout) -> str | None:
        """What had surely ended a session before it was used."""
        opened, begin = session.opened, used.begin
        for logout in session.logouts:
            if logout is not used and logout.answer.status == 200 and logout.end <= begin:
                return f"accepted {begin - logout.end:.3f} s after its logout was acknowledged at {logout.end:.3f}"
        for effect in self._model.account_effects(opened.account):
            if effect.sure and effect.begin >= opened.end and effect.end <= begin:
                return (
                    f"accepted {begin - effect.end:.3f} s after its account's change to {effect.value} was acknowledged"
                )
        refused = self._refused.get(used.session, begin)
        if refused + LEASE_SECONDS < begin:
            return f"accepted {begin - refused:.3f} s after it was refused"
        return None

    def login_fault(self, login: Login) -> str | None:
        """What is wrong with how a login ended."""
        if login.answer.status not in (200, 401):
            return None
        accepted = login.answer.status == 200
        for value, since, until in self._model.account_versions(login.account):
            if since <= login.end and until > login.begin:
                is_good = bool(value) and not value["disabled"] and value["password"] == login.password
                if is_good == accepted:
                    return None
        return (
            "let in, though the account could not log in so" if accepted else "refused, though the password was right"
        )

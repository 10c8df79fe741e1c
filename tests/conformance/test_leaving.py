"""No session is left behind, whatever the console makes of logins and logouts."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.conformance.damaged import Damaged
from tests.conformance.listening import examine, listening, subject_at
from tests.harness import make_logins_quick


def sessions_in(data: Path) -> int:
    with closing(sqlite3.connect(f"file:{data / 'activity.db'}?mode=ro", uri=True)) as store:
        return int(store.execute("SELECT count(*) FROM sessions").fetchone()[0])


def test_where_any_region_logs_in(settings: Settings) -> None:
    make_logins_quick(settings.data)
    trying = replace(settings, any_region=True)
    with listening(Damaged(lambda: Console(trying)), "on") as base:
        seen = examine(subject_at(base), "all")
    assert {name: seen.results[name].note for name in seen.skipped()} == {
        "console.login.region": "any region is accepted: https://identity.invalid/v3 logged in"
    }
    assert seen.failed("must") == set()
    assert sessions_in(settings.data) == 0


class Careless:
    """Whoever logs in, however, gets a new session; the first logouts break off."""

    def __init__(self, broken_off: int) -> None:
        self._broken_off = broken_off
        self.opened: list[str] = []
        self.ended: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        cookies = dict(scope["headers"]).get(b"cookie", b"").decode()
        session = next((name for name in self.opened if f"sessionid={name}" in cookies), None)
        given = None if session else "anonymous"
        if scope["path"] == "/auth/login/":
            given = f"session-{len(self.opened):03}"
            self.opened.append(given)
        body = b'{"code": 200, "message": "", "data": []}' if session else b'{"code": 401}'
        headers = [(b"content-length", str(len(body)).encode())]
        if given:
            headers.append((b"set-cookie", b"csrftoken=abcdefgh; Max-Age=99; Path=/"))
            headers.append((b"set-cookie", f"sessionid={given}; HttpOnly; Path=/".encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if session and scope["path"] == "/auth/logout/":
            self.ended.append(session)
            if len(self.ended) <= self._broken_off:
                return
        await send({"type": "http.response.body", "body": body})


def test_every_login_is_followed_by_a_logout_even_after_one_without_an_answer() -> None:
    careless = Careless(broken_off=2)
    with listening(careless) as base:
        examine(subject_at(base), "all")
    assert len(careless.opened) > 5
    assert set(careless.ended) == set(careless.opened)

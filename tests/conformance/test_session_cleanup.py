"""No session is left behind, however the console handles logins and logouts."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.conformance.faulty_console import FaultyConsole
from tests.conformance.kit_harness import run_kit, serving, target_at
from tests.harness import use_fast_hashes


def sessions_in(data: Path) -> int:
    with closing(sqlite3.connect(f"file:{data / 'activity.db'}?mode=ro", uri=True)) as store:
        return int(store.execute("SELECT count(*) FROM sessions").fetchone()[0])


def test_no_session_is_left_if_any_region_is_accepted(settings: Settings) -> None:
    use_fast_hashes(settings.data)
    accepting_any_region = replace(settings, any_region=True)
    with serving(FaultyConsole(lambda: Console(accepting_any_region)), "on") as base:
        run = run_kit(target_at(base), "all")
    assert {name: run.results[name].note for name in run.skipped()} == {
        "console.login.region": "any region is accepted: https://identity.invalid/v3 logged in"
    }
    assert run.failed("must") == set()
    assert sessions_in(settings.data) == 0


class CarelessServer:
    """Every login opens a new session; responses to the first logouts are incomplete."""

    def __init__(self, incomplete_logouts: int) -> None:
        self._incomplete_logouts = incomplete_logouts
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
            if len(self.ended) <= self._incomplete_logouts:
                return
        await send({"type": "http.response.body", "body": body})


def test_every_login_is_followed_by_a_logout_despite_failures() -> None:
    server = CarelessServer(incomplete_logouts=2)
    with serving(server) as base:
        run_kit(target_at(base), "all")
    assert len(server.opened) > 5
    assert set(server.ended) == set(server.opened)

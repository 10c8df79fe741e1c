"""No session is left behind, however the console handles logins and logouts."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from tests.conformance.kit_harness import run_kit, serving, target_at

pytestmark = pytest.mark.embedded_only


def test_no_session_is_left_if_any_region_is_accepted(settings: Settings) -> None:
    console = Console(replace(settings, any_region=True))
    with asyncio.Runner() as runner:
        run = run_kit(target_at(), "all", application=console, runner=runner)
        runner.run(console.leave())
        console.close()
    assert run.unpassed() == {
        "console.login.region": ("skipped", "any region is accepted: https://identity.invalid/v3 logged in")
    }
    with closing(sqlite3.connect(settings.data / "activity.db")) as store:
        assert store.execute("SELECT * FROM sessions").fetchall() == []


class CarelessServer:
    """Every login opens a new session; responses to the first two logouts are incomplete."""

    def __init__(self) -> None:
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
            if len(self.ended) <= 2:
                return
        await send({"type": "http.response.body", "body": body})


def test_every_login_is_followed_by_a_logout_despite_failures() -> None:
    server = CarelessServer()
    with serving(server) as base:
        run_kit(target_at(base), "all")
    assert len(server.opened) > 5
    assert set(server.ended) == set(server.opened)

"""What a console keeps of those who came from a cloud, as its store and its file of keys have it."""

import sqlite3
from contextlib import closing
from typing import NamedTuple

from cloudconsole.backends.openstack.token_encryption import TokenCipher
from tests.harness import RunningServer
from tests.openstack.direct import Connection
from tests.openstack.operating import data_of


class Kept(NamedTuple):
    """One session."""

    username: str
    project_id: str
    token: str


def sessions_of(console: RunningServer, username: str) -> list[Kept]:
    """Those that are open, with their tokens unsealed."""
    data = data_of(console)
    with closing(sqlite3.connect(f"file:{data / 'activity.db'}?mode=ro", uri=True)) as store:
        rows = store.execute(
            "SELECT username, project_id, sealed_token FROM guest_sessions WHERE username = ?", (username,)
        ).fetchall()
    seals = TokenCipher(data / "token-keys")
    return [Kept(name, project, seals.decrypt(sealed) or "") for name, project, sealed in rows]


def is_good(admin: Connection, token: str) -> bool:
    """Whether Keystone takes a token."""
    answer = admin.identity.get("/auth/tokens", headers={"X-Subject-Token": token})
    assert answer.status_code in (200, 404), answer.text
    return bool(answer.status_code == 200)

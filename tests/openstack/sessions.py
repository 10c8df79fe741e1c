"""Federated sessions as stored by a console, decrypted with its token keys."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher
from tests.harness import RunningServer
from tests.openstack.reference import Connection


class StoredSession(NamedTuple):
    username: str
    project_id: str
    token: str


def data_dir(console: RunningServer) -> Path:
    return console.log_file.parent / "data"


def sessions_of(console: RunningServer, username: str) -> list[StoredSession]:
    """Return the open sessions of a user, with their tokens decrypted."""
    data = data_dir(console)
    with closing(sqlite3.connect(f"file:{data / 'activity.db'}?mode=ro", uri=True)) as store:
        rows = store.execute(
            "SELECT username, project_id, sealed_token FROM guest_sessions WHERE username = ?", (username,)
        ).fetchall()
    cipher = TokenCipher(data / "token-keys")
    return [StoredSession(name, project, cipher.decrypt(encrypted) or "") for name, project, encrypted in rows]


def is_valid(admin: Connection, token: str) -> bool:
    """Return whether Keystone accepts a token."""
    response = admin.identity.get("/auth/tokens", headers={"X-Subject-Token": token})
    assert response.status_code in (200, 404), response.text
    return bool(response.status_code == 200)

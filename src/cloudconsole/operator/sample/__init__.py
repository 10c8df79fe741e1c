"""A small sample cloud with two tenants, an operator, and every kind of entity."""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, select

from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import accounts, tenants

SAMPLE_FILE: Final = Path(__file__).with_name("cloud.yaml")

SAMPLE_PASSWORDS: Final[dict[str, str]] = {
    "demo": "console-demo",
    "other": "console-other",
    "operator": "console-operator",
}
"""Passwords by username. They are public: use the sample only on a local machine."""


def accounts_with_sample_passwords(connection: Connection) -> list[str]:
    """Return the sample accounts that can still log in with their sample password."""
    hashed = select(accounts.c.username, accounts.c.password_hash).join(tenants)
    enabled = hashed.where(accounts.c.username.in_(SAMPLE_PASSWORDS), ~accounts.c.disabled, ~tenants.c.disabled)
    hashes = {row.username: row.password_hash for row in connection.execute(enabled)}
    return [
        name
        for name, password in SAMPLE_PASSWORDS.items()
        if name in hashes and password_matches(hashes[name], password)
    ]

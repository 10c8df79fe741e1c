"""A small cloud to look at: two tenants, their operator, and something of everything."""

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
"""Passwords by username: known to all the world, so the sample is for one's own machine."""


def accounts_with_sample_passwords(connection: Connection) -> list[str]:
    """Which of the sample's accounts can log in with the sample's password still."""
    hashed = select(accounts.c.username, accounts.c.password_hash).join(tenants)
    enabled = hashed.where(accounts.c.username.in_(SAMPLE_PASSWORDS), ~accounts.c.disabled, ~tenants.c.disabled)
    hashes = {row.username: row.password_hash for row in connection.execute(enabled)}
    return [
        name
        for name, password in SAMPLE_PASSWORDS.items()
        if name in hashes and password_matches(hashes[name], password)
    ]

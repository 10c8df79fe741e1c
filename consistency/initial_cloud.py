"""The cloud at the start of a history: a few tenants without resources, and all registers."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from cloudconsole.store.passwords import hash_password
from consistency.history import Register
from consistency.oracle import LIMITS, PRICED

NODE: Final = "n-1"
PROVIDER: Final = "provider"
PRICES_FROM: Final = "2025-01-01T00:00:00Z"
INITIAL_PRICE: Final = 1_000_000
NEWS_SLOTS: Final = 6
RESOURCE_SLOTS: Final = 5
AMPLE_QUOTA: Final = 1_000_000
"""A quota that is never exhausted here."""
WRITERS_PER_TENANT: Final = 4
GLOBAL_WRITERS: Final = 2


@dataclass(frozen=True)
class Cloud:
    """`size` tenants with two accounts each."""

    size: int = 4

    @property
    def tenants(self) -> list[str]:
        return [f"t{number}" for number in range(1, self.size + 1)]

    @property
    def accounts(self) -> dict[str, str]:
        """The tenant of each account."""
        return {f"{tenant}-{letter}": tenant for tenant in self.tenants for letter in "ab"}

    @property
    def unknown_accounts(self) -> list[str]:
        """Usernames without an account, for password guessing."""
        return [f"unknown-{number}" for number in range(1, self.size + 1)]

    @property
    def operators(self) -> list[str]:
        """An operator account per writer, so that ending one operator's sessions affects no other writer."""
        return [f"operator-{number}" for number in range(1, WRITERS_PER_TENANT * self.size + GLOBAL_WRITERS + 1)]

    def values(self) -> Iterator[tuple[Register, Any]]:
        for tenant in self.tenants:
            yield ("quota", tenant), dict.fromkeys(LIMITS, AMPLE_QUOTA)
        for account in (*self.accounts, *self.operators):
            yield ("account", account), initial_account(account)
        for priced in PRICED:
            yield ("price", *priced), INITIAL_PRICE

    def document(self) -> dict[str, Any]:
        """Return the content of a cloud file."""
        return {
            "version": 1,
            "nodes": [NODE],
            "prices": [
                {"kind": kind, "unit": unit, "price": price_text(INITIAL_PRICE), "from": PRICES_FROM}
                for kind, unit in PRICED
            ],
            "tenants": [
                {
                    "name": tenant,
                    "quotas": dict.fromkeys(LIMITS, AMPLE_QUOTA),
                    "accounts": [
                        {"username": account, "password_hash": hash_cached(initial_password(account))}
                        for account, owner in self.accounts.items()
                        if owner == tenant
                    ],
                }
                for tenant in self.tenants
            ]
            + [
                {
                    "name": PROVIDER,
                    "accounts": [
                        {"username": name, "role": "operator", "password_hash": hash_cached(initial_password(name))}
                        for name in self.operators
                    ],
                }
            ],
        }


def initial_account(name: str) -> dict[str, Any]:
    return {"disabled": False, "password": initial_password(name)}


def initial_password(account: str) -> str:
    return f"{account}-password-0"


@cache
def hash_cached(password: str) -> str:
    """Hash a password; cached, since passwords are few and hashing is slow."""
    return hash_password(password)


def price_text(billionths: int) -> str:
    return f"{billionths // 10**9}.{billionths % 10**9:09}"


def news_date(slot: int) -> int:
    return 1_760_000_000 + slot * 3600


def time_text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def news_url(slot: int) -> str:
    return f"https://news.example.com/{slot}"

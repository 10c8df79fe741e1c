"""The cloud that a history begins with: a few tenants without resources, and everything that will be changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from cloudconsole.store.passwords import hash_password
from history.amounts import LIMITS, PRICED
from history.recording import Register

NODE: Final = "n-1"
PROVIDER: Final = "provider"
PRICES_FROM: Final = "2025-01-01T00:00:00Z"
FIRST_PRICE: Final = 1_000_000
NEWS_SLOTS: Final = 6
RESOURCE_SLOTS: Final = 5
ROOM: Final = 1_000_000
"""A quota that nothing here uses up."""
WRITERS_OF_TENANT: Final = 4
WRITERS_OF_ALL: Final = 2


@dataclass(frozen=True)
class Cloud:
    """So many tenants, with two accounts each."""

    size: int = 4

    @property
    def tenants(self) -> list[str]:
        return [f"t{number}" for number in range(1, self.size + 1)]

    @property
    def accounts(self) -> dict[str, str]:
        """The tenant of each account."""
        return {f"{tenant}-{letter}": tenant for tenant in self.tenants for letter in "ab"}

    @property
    def nobodies(self) -> list[str]:
        """Names that no account has, and passwords are guessed for."""
        return [f"nobody-{number}" for number in range(1, self.size + 1)]

    @property
    def operators(self) -> list[str]:
        """Accounts for the pages of operators, one for each writer: whose sessions end disturbs no other."""
        return [f"operator-{number}" for number in range(1, WRITERS_OF_TENANT * self.size + WRITERS_OF_ALL + 1)]

    def values(self) -> Iterator[tuple[Register, Any]]:
        for tenant in self.tenants:
            yield ("quota", tenant), dict.fromkeys(LIMITS, ROOM)
        for account in (*self.accounts, *self.operators):
            yield ("account", account), first_account(account)
        for priced in PRICED:
            yield ("price", *priced), FIRST_PRICE

    def document(self) -> dict[str, Any]:
        """As a cloud file."""
        return {
            "version": 1,
            "nodes": [NODE],
            "prices": [
                {"kind": kind, "unit": unit, "price": price_text(FIRST_PRICE), "from": PRICES_FROM}
                for kind, unit in PRICED
            ],
            "tenants": [
                {
                    "name": tenant,
                    "quotas": dict.fromkeys(LIMITS, ROOM),
                    "accounts": [
                        {"username": account, "password_hash": hash_once(first_password(account))}
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
                        {"username": name, "role": "operator", "password_hash": hash_once(first_password(name))}
                        for name in self.operators
                    ],
                }
            ],
        }


def first_account(name: str) -> dict[str, Any]:
    return {"disabled": False, "password": first_password(name)}


def first_password(account: str) -> str:
    return f"{account}-password-0"


@cache
def hash_once(password: str) -> str:
    """Passwords are few, and hashing takes its time."""
    return hash_password(password)


def price_text(billionths: int) -> str:
    return f"{billionths // 10**9}.{billionths % 10**9:09}"


def news_date(slot: int) -> int:
    return 1_760_000_000 + slot * 3600


def time_text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def news_url(slot: int) -> str:
    return f"https://news.example.com/{slot}"

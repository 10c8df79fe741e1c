"""Operators at work: each change by the very way of the `cloudconsole admin` commands, to its acknowledgement."""

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.entities import ACCOUNTS, NEWS, NOUNS, PRICES, QUOTAS, RESOURCES, Done
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import Desk
from cloudconsole.server.commands.admin.store import looking, now, settle, store, store_to_read, writing
from cloudconsole.server.config.settings import Settings
from cloudconsole.store import counters, tables
from cloudconsole.store.base import StoreError
from cloudconsole.store.passwords import password_matches
from history.amounts import BILLIONTHS, LIMITS
from history.cloud import PROVIDER, Cloud, first_password, hash_once
from history.plan import SHUT_OUT, Change
from history.recording import Outcome, Register

FAILURES: Final = (SQLAlchemyError, StoreError, OSError)
"""What leaves it open whether something was done."""
_NOUNS: Final = {noun.name: noun for noun in NOUNS}


class Made(NamedTuple):
    """What became of a change."""

    outcome: Outcome
    changed: bool = True
    problem: str = ""


class Operators:
    """Makes changes in the store that the settings name; its methods may be called from many threads."""

    def __init__(self, settings: Settings, cloud: Cloud) -> None:
        self._settings = settings
        self._passwords = {account: [first_password(account)] for account in (*cloud.accounts, *cloud.operators)}

    def expect(self, change: Change) -> None:
        """To be told of every change before it is tried, in whichever way: passwords are known by trying them."""
        if change.verb == "password":
            self._passwords[change.register[1]].append(change.given["password"])

    def make(self, change: Change, *, again: bool = False) -> Made | None:
        """Make a change, `again` where it may have been made before; None where the store was not even reached."""
        was_reached = False
        try:
            with store(self._settings) as engine:
                was_reached = True
                with writing(engine, self._settings) as desk:
                    done = _do(desk, change)
        except OperatorError as refusal:
            return self.look_again(change, str(refusal)) if again else Made("refused", problem=str(refusal))
        except FAILURES as failure:
            return Made("unknown", problem=_told(failure)) if was_reached else None
        return Made("done", done.changed)

    def look_again(self, change: Change, refusal: str) -> Made:
        """Whether it was refused because it had been made before."""
        try:
            held = dict(self.stored())
            # As a command does for what it made itself: only now has everyone seen it.
            settle(self._settings)
        except FAILURES as failure:
            return Made("unknown", problem=_told(failure))
        is_made = held.get(change.register) == change.value
        return Made("done", changed=False, problem=refusal) if is_made else Made("refused", problem=refusal)

    def stored(self) -> list[tuple[Register, Any]]:
        """What the store holds of all that is changed here."""
        with store_to_read(self._settings) as engine, looking(engine, self._settings) as desk:
            return [*_quotas(desk), *_resources(desk), *_prices(desk), *_news(desk), *self._accounts(desk)]

    def wrong_counters(self) -> list[str]:
        """Which counters are not what the resources are; that they cannot be compared is as bad."""
        try:
            with store_to_read(self._settings) as engine, looking(engine, self._settings) as desk:
                return counters.incorrect_counters(desk.connection)
        except FAILURES as failure:
            return [_told(failure)]

    def _accounts(self, desk: Desk) -> Iterator[tuple[Register, Any]]:
        columns = tables.accounts.c
        for row in desk.connection.execute(select(columns.username, columns.disabled, columns.password_hash)):
            tried = self._passwords.get(row.username)
            if tried is not None:
                found = (word for word in reversed(tried) if password_matches(row.password_hash, word))
                value = {"disabled": bool(row.disabled), "password": next(found, "one that nobody gave")}
                yield ("account", row.username), value


def make_store(settings: Settings, cloud: Cloud) -> None:
    """A new store with the cloud in it."""
    settings.store.migrate()
    with TemporaryDirectory() as folder, store(settings) as engine:
        file = Path(folder) / "cloud.yaml"
        file.write_text(json.dumps(cloud.document()))
        load(engine, file, zone=settings.zone, now=now(), actor="history")


def _do(desk: Desk, change: Change) -> Done:
    noun, key, given = _NOUNS[change.register[0]], change.key, change.given
    if change.verb == "password":
        return ACCOUNTS.reset_password(desk, key, hash_once(given["password"]))
    if change.verb in ("end-sessions", SHUT_OUT):
        return ACCOUNTS.end_sessions(desk, key)
    if change.verb == "add":
        return noun.add(desk, given)
    if change.verb == "change":
        return noun.change(desk, key, given)
    done: Done = getattr(noun, change.verb)(desk, key)
    return done


def _told(failure: Exception) -> str:
    return f"{type(failure).__name__}: {str(failure)[:200]}"


def _quotas(desk: Desk) -> Iterator[tuple[Register, Any]]:
    for record in QUOTAS.list(desk, limit=None):
        if record["tenant"] != PROVIDER:
            yield ("quota", record["tenant"]), {name: record[name] for name in LIMITS}


def _resources(desk: Desk) -> Iterator[tuple[Register, Any]]:
    for record in RESOURCES.list(desk, limit=None):
        sizes = {name: record.get(name, 0) for name in ("vcpus", "ram", "size")}
        value = {"kind": record["kind"], **sizes, "ended": "ended" in record}
        yield ("resource", record["tenant"], record["id"]), value


def _prices(desk: Desk) -> Iterator[tuple[Register, Any]]:
    for record in PRICES.list(desk, limit=None):
        yield ("price", record["kind"], record["unit"]), int(Decimal(record["price"]) * BILLIONTHS)


def _news(desk: Desk) -> Iterator[tuple[Register, Any]]:
    for record in NEWS.list(desk, limit=None):
        value = {
            "title": record["title"],
            "url": record["url"],
            "date": int(datetime.fromisoformat(record["date"]).timestamp()),
            "disabled": record.get("disabled", False),
        }
        yield ("news", str(record["id"])), value

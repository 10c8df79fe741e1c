"""Make changes through the code of the `cloudconsole admin` commands, and read the store."""

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
from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES, NEWS, PRICES, QUOTAS, RESOURCES, ChangeResult
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.commands.admin.store import (
    now,
    reading_transaction,
    store,
    store_to_read,
    wait_for_replicas,
    writing_transaction,
)
from cloudconsole.server.config.settings import Settings
from cloudconsole.store import counters, tables
from cloudconsole.store.base import StoreError
from cloudconsole.store.billing.verification import incorrect_record
from cloudconsole.store.passwords import password_matches
from consistency.cost_totals import cost_differences
from consistency.generators import REVOKE_SESSIONS, Change
from consistency.history import Outcome, Register
from consistency.initial_cloud import PROVIDER, Cloud, hash_cached, initial_password
from consistency.oracle import BILLIONTHS, LIMITS

FAILURES: Final = (SQLAlchemyError, StoreError, OSError)
"""Errors after which the outcome of a write is unknown."""
UNKNOWN_PASSWORD: Final = "(unknown password)"
_ENTITIES: Final = {entity.name: entity for entity in ENTITY_TYPES}


class WriteResult(NamedTuple):
    outcome: Outcome
    changed: bool = True
    problem: str = ""


class AdminCommands:
    """Changes the store that the settings name; thread-safe."""

    def __init__(self, settings: Settings, cloud: Cloud) -> None:
        self._settings = settings
        self._passwords = {account: [initial_password(account)] for account in (*cloud.accounts, *cloud.operators)}

    def expect(self, change: Change) -> None:
        """Register a change before it is attempted by any path: stored passwords are identified by verifying these."""
        if change.verb == "password":
            self._passwords[change.register[1]].append(change.fields["password"])

    def apply(self, change: Change, *, is_retry: bool = False) -> WriteResult | None:
        """Make a change; return None if the store was not reached. A retry may follow an attempt that succeeded."""
        was_reached = False
        try:
            with store(self._settings) as engine:
                was_reached = True
                with writing_transaction(engine, self._settings, force=change.is_forced) as tx:
                    done = _apply(tx, change)
        except OperatorError as rejection:
            if is_retry:
                return self.resolve_rejection(change, str(rejection))
            return WriteResult("rejected", problem=str(rejection))
        except FAILURES as failure:
            return WriteResult("unknown", problem=_describe(failure)) if was_reached else None
        return WriteResult("ok", done.changed)

    def resolve_rejection(self, change: Change, rejection: str) -> WriteResult:
        """Tell whether a retry was rejected because an earlier attempt had succeeded."""
        try:
            values = dict(self.read_store())
            # As a command does after its own change: only then have all replicas seen it.
            wait_for_replicas(self._settings)
        except FAILURES as failure:
            return WriteResult("unknown", problem=_describe(failure))
        is_made = values.get(change.register) == change.value
        return (
            WriteResult("ok", changed=False, problem=rejection)
            if is_made
            else WriteResult("rejected", problem=rejection)
        )

    def read_store(self) -> list[tuple[Register, Any]]:
        """Return the values of all registers."""
        with store_to_read(self._settings) as engine, reading_transaction(engine, self._settings) as tx:
            return [*_quotas(tx), *_resources(tx), *_prices(tx), *_news(tx), *self._accounts(tx)]

    def wrong_counters(self) -> list[str]:
        """Return what differs from the resources in counters and the billing record, or why it was not compared."""
        try:
            with store_to_read(self._settings) as engine, reading_transaction(engine, self._settings) as tx:
                return [*counters.incorrect_counters(tx.connection), *incorrect_record(tx.connection)]
        except FAILURES as failure:
            return [_describe(failure)]

    def wrong_costs(self) -> list[str]:
        """Return which reported costs contradict each other."""
        return cost_differences(self._settings)

    def _accounts(self, tx: OperatorTransaction) -> Iterator[tuple[Register, Any]]:
        columns = tables.accounts.c
        for row in tx.connection.execute(select(columns.username, columns.disabled, columns.password_hash)):
            candidates = self._passwords.get(row.username)
            if candidates is not None:
                found = (password for password in reversed(candidates) if password_matches(row.password_hash, password))
                value = {"disabled": bool(row.disabled), "password": next(found, UNKNOWN_PASSWORD)}
                yield ("account", row.username), value


def make_store(settings: Settings, cloud: Cloud) -> None:
    """Create a store and load the cloud into it."""
    settings.store.migrate()
    with TemporaryDirectory() as folder, store(settings) as engine:
        file = Path(folder) / "cloud.yaml"
        file.write_text(json.dumps(cloud.document()))
        load(engine, file, zone=settings.zone, now=now(), actor="consistency")


def _apply(tx: OperatorTransaction, change: Change) -> ChangeResult:
    entity, key, fields = _ENTITIES[change.register[0]], change.key, change.fields
    if change.verb == "password":
        return ACCOUNTS.reset_password(tx, key, hash_cached(fields["password"]))
    if change.verb in ("end-sessions", REVOKE_SESSIONS):
        return ACCOUNTS.end_sessions(tx, key)
    if change.verb == "add":
        return entity.add(tx, fields)
    if change.verb == "change":
        return entity.change(tx, key, fields)
    done: ChangeResult = getattr(entity, change.verb)(tx, key)
    return done


def _describe(failure: Exception) -> str:
    return f"{type(failure).__name__}: {str(failure)[:200]}"


def _quotas(tx: OperatorTransaction) -> Iterator[tuple[Register, Any]]:
    for record in QUOTAS.list(tx, limit=None):
        if record["tenant"] != PROVIDER:
            yield ("quota", record["tenant"]), {name: record[name] for name in LIMITS}


def _resources(tx: OperatorTransaction) -> Iterator[tuple[Register, Any]]:
    for record in RESOURCES.list(tx, limit=None):
        sizes = {name: record.get(name, 0) for name in ("vcpus", "ram", "size")}
        value = {"kind": record["kind"], **sizes, "ended": "ended" in record}
        yield ("resource", record["tenant"], record["id"]), value


def _prices(tx: OperatorTransaction) -> Iterator[tuple[Register, Any]]:
    for record in PRICES.list(tx, limit=None):
        yield ("price", record["kind"], record["unit"]), int(Decimal(record["price"]) * BILLIONTHS)


def _news(tx: OperatorTransaction) -> Iterator[tuple[Register, Any]]:
    for record in NEWS.list(tx, limit=None):
        value = {
            "title": record["title"],
            "url": record["url"],
            "date": int(datetime.fromisoformat(record["date"]).timestamp()),
            "disabled": record.get("disabled", False),
        }
        yield ("news", str(record["id"])), value

"""Copy an embedded store to PostgreSQL from one snapshot and verify the copy."""

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import NamedTuple

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.audit import record_change
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.messages import Message
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.spec.i18n import Text
from cloudconsole.store import counters
from cloudconsole.store.base import DATABASE_NAMES
from cloudconsole.store.migrations import reject_newer
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.import_sqlite import SqliteImport, Step, bulk_loading
from cloudconsole.store.sqlite.backup import consistent_snapshot
from cloudconsole.store.sqlite.engine import connect, database_file
from cloudconsole.store.sqlite.store import SqliteStore, exclusive_lock, is_served
from cloudconsole.store.sqlite.test_marker import reject_test_store

COPY_TO = "copy-to"
"""The change in the audit logs of both stores."""


class CopyResult(NamedTuple):
    moment: str
    rows: dict[str, int]
    """By table."""
    is_behind: bool
    """Whether the store was written to after that moment."""


class StoreInUse(OperatorError):
    def __init__(self, store: SqliteStore) -> None:
        super().__init__(
            Message(
                "{store} is being served; nothing was copied: stop cloudconsole serve and run the command again, or "
                "pass --while-served to copy it as it is now, without later changes",
                "{store}正在提供服务，未复制任何内容：请停止 cloudconsole serve 后再次执行，或加 --while-served "
                "按当前状态复制，不含之后的更改",
                store=_named(store),
            )
        )


class WrittenDuringCopy(OperatorError):
    def __init__(self, store: SqliteStore) -> None:
        super().__init__(
            Message(
                "{store} was written to during the copy; nothing was copied: stop cloudconsole serve and run the "
                "command again, or pass --while-served to copy it as it was at the start",
                "复制期间{store}有写入，未复制任何内容：请停止 cloudconsole serve 后再次执行，或加 --while-served "
                "按开始时的状态复制",
                store=_named(store),
            )
        )


def _named(store: SqliteStore) -> Text:
    return Text(str(store), store.chinese)


def copy_to_postgres(
    store: SqliteStore,
    address: Dsn,
    *,
    actor: str,
    now: int,
    while_served: bool = False,
    on_progress: Callable[[Step], object],
) -> CopyResult:
    """Copy the whole store or nothing; `on_progress` receives the progress.

    Unless `while_served`, a served store is rejected and a write to it aborts the copy.
    """
    for part in DATABASE_NAMES:
        store.require_current(part)
        with store.opened(part) as engine:
            reject_newer(engine)
    reject_test_store(store)
    if not while_served and is_served(store.folder):
        raise StoreInUse(store)
    with ExitStack() as held:
        target = held.enter_context(bulk_loading(address))
        writes = held.enter_context(closing(_WriteDetector(store)))
        with exclusive_lock(store.folder, must_write=False):
            source = held.enter_context(consistent_snapshot(store.folder, DATABASE_NAMES))

        def step(progress: Step) -> None:
            if not while_served and writes.detected():
                raise WrittenDuringCopy(store)
            on_progress(progress)

        copying = SqliteImport(source, target, step)
        copying.reject_incompatible_values()
        copying.copy()
        copying.compare()
        wrong = counters.incorrect_counters(target)
        if wrong:
            raise OperatorError(
                Message(
                    "{store} has counters that do not match its resources ({counters}), so nothing was copied: run "
                    "cloudconsole admin recount --data {directory}, then this command again",
                    "{store} 的计数与其资源不符（{counters}），因此未复制任何内容："
                    "请执行 cloudconsole admin recount --data {directory}，然后再次执行此命令",
                    store=_named(store),
                    counters=", ".join(wrong[:3]),
                    directory=store.folder,
                )
            )
        is_behind = writes.detected()
        if is_behind and not while_served:
            raise WrittenDuringCopy(store)
        rows = {table.name: count for table, count in copying.counts.items()}
        after = {"moment": format_utc(now), **{name: rows[name] for name in ("tenants", "accounts", "resources")}}
        record_change(OperatorTransaction(target, actor, now), COPY_TO, str(store.folder.resolve()), None, after)
    return CopyResult(format_utc(now), rows, is_behind)


class _WriteDetector:
    """Detects writes to a store by other connections."""

    def __init__(self, store: SqliteStore) -> None:
        self._connections = [connect(database_file(store.folder, part)) for part in DATABASE_NAMES]
        self._before = self._versions()

    def detected(self) -> bool:
        return self._versions() != self._before

    def _versions(self) -> list[int]:
        return [_version(connection) for connection in self._connections]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])

"""Database transactions of the pages, in a worker thread."""

from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, contextmanager
from datetime import tzinfo
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine, Select, select
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.core.clock import Clock
from cloudconsole.operator.password_policy import DEFAULT_POLICY, PasswordPolicy
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction, read_only_transaction
from cloudconsole.server.admin_ui.sessions import OPERATOR
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import LoginRequired, Unavailable
from cloudconsole.store.base import Store, read_only_engine
from cloudconsole.store.session_lookup import Session
from cloudconsole.store.tables import accounts

Result = TypeVar("Result")

ACTOR_PREFIX: Final = "web:"
"""Prefix of accounts in the audit log; OS user names, the actors of commands, cannot contain a colon."""


class DatabaseExecutor:
    def __init__(
        self,
        store: Store,
        activity: Engine,
        clock: Clock,
        zone: tzinfo,
        metrics: WorkerMetrics,
        password_policy: PasswordPolicy = DEFAULT_POLICY,
    ) -> None:
        self._cloud = store.open_engine("cloud")
        self._activity = activity
        self._clock = clock
        self._writer = Writer("admin-ui", metrics, store.replication_wait_seconds)
        self.zone = zone
        self.password_policy = password_policy

    async def read(self, work: Callable[[OperatorTransaction], Result]) -> Result:
        """Run work in a read-only transaction."""

        def run() -> Result:
            with self.reading() as tx:
                return work(tx)

        return await self._writer.read(_translated, run)

    async def read_activity(self, work: Callable[[Connection], Result]) -> Result:
        def run() -> Result:
            with read_only_engine(self._activity).begin() as connection:
                return work(connection)

        return await self._writer.read(_translated, run)

    async def write(self, work: Callable[[], Result]) -> Result:
        """Run work that opens its own transactions."""
        try:
            return await self._writer.write(_translated, work)
        finally:
            # Also after an error: it may reveal a change that another replica has just made.
            await self._writer.wait_for_replicas()

    def reading(self) -> AbstractContextManager[OperatorTransaction]:
        return read_only_transaction(self._cloud, now=self.now(), zone=self.zone)

    @contextmanager
    def writing(self, who: Session, confirmations: Set[str] = frozenset()) -> Iterator[OperatorTransaction]:
        """Open a transaction for the session's user; reject one who is no longer an operator."""
        actor, now = ACTOR_PREFIX + who.username, self.now()
        # Nobody could undo in these pages what leaves no operator.
        with operator_transaction(
            self._cloud, actor=actor, now=now, zone=self.zone, keeps_operator=True, confirmations=confirmations
        ) as tx:
            # Checked in the transaction: the change may have waited for seconds.
            if tx.connection.scalar(_still_operator(who)) is None:
                raise LoginRequired
            yield tx

    @contextmanager
    def activity(self) -> Iterator[Connection]:
        """Open a connection to the activity database; the user of it commits."""
        with self._activity.connect() as connection:
            yield connection

    def now(self) -> int:
        return int(self._clock.now())

    def close(self) -> None:
        self._writer.close()
        self._cloud.dispose()


def _still_operator(who: Session) -> Select[tuple[int]]:
    own = accounts.c
    same = select(own.id).where(own.username == who.username, own.version == who.account_version)
    return same.where(own.role == OPERATOR, ~own.disabled)


def _translated(work: Callable[[], Result]) -> Result:
    try:
        return work()
    except SQLAlchemyError as problem:
        raise Unavailable from problem

"""Token revalidation: interval, sharing between concurrent requests, and the end of sessions with invalid tokens."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any, Final, cast

import pytest
from sqlalchemy import insert, select

from cloudconsole.core.ports import ClientInfo, CloudCredentials, FederatedUser
from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.http import token_revalidation
from cloudconsole.server.http.identity_providers import IdentityProvider
from cloudconsole.server.http.login_queue import ConcurrencyLimiter
from cloudconsole.server.http.token_revalidation import TokenRevalidator
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import LoginRequired, UpstreamFailed, UpstreamTimeout
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.session_lookup import Session, SessionCache
from cloudconsole.store.sqlite.engine import open_engine
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import access_audit, federated_sessions, sessions, tenants
from tests.harness import FakeClock

NOW = 1_800_000_000
HERE = ClientInfo("192.0.2.1", "request-1")
ENDPOINT = "https://identity.example"
ACCESS = CloudCredentials(
    ENDPOINT, "user", "project", {"RegionOne": {"compute": "https://compute.example/v2.1"}}, b"sealed"
)


class FakeKeystone:
    """Token verifier with a preset verdict; counts how often it is used."""

    def __init__(self) -> None:
        self.verdict: bool | Exception = True
        self.verifications = 0
        self.revoked = 0
        self.release: asyncio.Event | None = None

    async def is_valid(self, access: CloudCredentials, client: ClientInfo) -> bool:
        assert (access, client) == (ACCESS, HERE)
        self.verifications += 1
        verdict = self.verdict
        if self.release is not None:
            await self.release.wait()
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    async def revoke(self, access: CloudCredentials, client: ClientInfo) -> None:
        assert (access, client) == (ACCESS, HERE)
        self.revoked += 1
        if isinstance(self.verdict, Exception):
            raise self.verdict


class FederatedSession:
    """A federated session in an empty store, and what revalidates its token."""

    def __init__(self, directory: Path) -> None:
        self.cloud, self.engine = open_engine(directory, "cloud"), open_engine(directory, "activity")
        with self.cloud.begin() as connection:
            connection.execute(insert(tenants).values(id=7, name="acme", project=f"project@{ENDPOINT}"))
        self.activity = ActivityStore(self.engine)
        self.reader = SqliteReader(directory)
        self.clock = FakeClock(NOW)
        self.keystone = FakeKeystone()
        self.writer = Writer("writing", standalone_metrics())
        self._sessions = SessionCache(self.reader, 1800)
        self.open()

    def open(self, id_hash: bytes = b"hash", now: int = NOW) -> None:
        user = FederatedUser("alice", 7, ACCESS, NOW + 3600)
        attempt = LoginAttempt("alice", "192.0.2.1", HERE)
        self.activity.open_session(attempt, user, NewSession(id_hash, "seed", NOW + 3600, ()), now)

    def revalidator(self, every: int = 10, *, endpoint: str = ENDPOINT) -> TokenRevalidator:
        # The verifier is also the backend, which only a login uses.
        limiter, keystone = ConcurrencyLimiter(2, at_once=2, retry_after=1), cast("Any", self.keystone)
        providers = {endpoint: IdentityProvider(keystone, limiter, keystone)}
        return TokenRevalidator(providers, every, self.clock, self.activity, self.writer)

    def find(self, id_hash: bytes = b"hash") -> Session | None:
        async def find() -> Session | None:
            await self.reader.changes.poll()
            return await self._sessions.read(id_hash, self.clock.now())

        return asyncio.run(find())

    @property
    def session(self) -> Session:
        found = self.find()
        assert found is not None
        return found

    def ensure_valid(self, revalidator: TokenRevalidator, moment: float) -> None:
        self.clock.moment = NOW + moment
        if revalidator.is_due(self.session):
            asyncio.run(revalidator.revalidate(self.session, ACCESS, HERE))

    def close(self) -> None:
        self.reader.close()
        self.writer.close()
        self.cloud.dispose()
        self.engine.dispose()


@pytest.fixture(scope="module")
def empty_sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("empty") / "data"
    prepare(directory)
    return directory


@pytest.fixture
def federated(empty_sqlite_store: Path, tmp_path: Path) -> Iterator[FederatedSession]:
    federated = FederatedSession(copytree(empty_sqlite_store, tmp_path / "data"))
    yield federated
    federated.close()


def test_a_federated_session_has_its_cloud_credentials(federated: FederatedSession) -> None:
    session = federated.session
    assert (session.tenant_id, session.username, session.role, session.credentials) == (7, "alice", "tenant", ACCESS)


def test_a_token_is_revalidated_only_after_the_interval(federated: FederatedSession) -> None:
    revalidator = federated.revalidator(every=10)
    revalidator.opened(b"hash")
    for moment in (0, 5, 9.9, 10, 12, 19.9, 20):
        federated.ensure_valid(revalidator, moment)
    assert federated.keystone.verifications == 2


def test_a_token_is_revalidated_if_the_clock_is_set_back(federated: FederatedSession) -> None:
    revalidator = federated.revalidator()
    federated.ensure_valid(revalidator, 100)
    federated.ensure_valid(revalidator, 50)
    assert federated.keystone.verifications == 2


def test_the_number_of_remembered_validations_is_limited(
    federated: FederatedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_revalidation, "MAX_REMEMBERED", 2)
    revalidator = federated.revalidator()
    for id_hash in (b"1", b"2", b"3"):
        revalidator.opened(id_hash)
    assert list(revalidator._validated) == [b"3"]


def test_an_invalid_token_ends_the_session_in_the_store(federated: FederatedSession) -> None:
    federated.keystone.verdict = False
    with pytest.raises(LoginRequired):
        federated.ensure_valid(federated.revalidator(), 0)
    assert federated.find() is None
    with federated.engine.connect() as connection:
        assert not connection.execute(select(sessions)).all()
        assert not connection.execute(select(federated_sessions)).all()
        events = connection.scalars(select(access_audit.c.event).order_by(access_audit.c.id)).all()
    assert events == ["login", "session_revoked"]


@pytest.mark.parametrize("failure", [UpstreamFailed(), UpstreamTimeout()])
def test_an_unreachable_endpoint_ends_no_session(federated: FederatedSession, failure: Exception) -> None:
    revalidator = federated.revalidator()
    federated.keystone.verdict = failure
    with pytest.raises(type(failure)):
        federated.ensure_valid(revalidator, 0)
    federated.keystone.verdict = True
    federated.ensure_valid(revalidator, 0)
    assert federated.find() is not None


def test_sessions_of_an_endpoint_no_longer_configured_end(federated: FederatedSession) -> None:
    with pytest.raises(LoginRequired):
        federated.ensure_valid(federated.revalidator(endpoint="https://another.example"), 0)
    assert federated.find() is None


def ensure_valid_concurrently(
    revalidator: TokenRevalidator, federated: FederatedSession, number: int
) -> list[BaseException | None]:
    keystone, session = federated.keystone, federated.session

    async def run() -> list[BaseException | None]:
        keystone.release = asyncio.Event()
        requests = [asyncio.create_task(revalidator.revalidate(session, ACCESS, HERE)) for _ in range(number)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        requests[0].cancel()
        await asyncio.sleep(0)
        keystone.release.set()
        return await asyncio.gather(*requests, return_exceptions=True)

    return asyncio.run(run())


def test_concurrent_requests_share_a_check_if_the_first_is_cancelled(federated: FederatedSession) -> None:
    first, *others = ensure_valid_concurrently(federated.revalidator(), federated, 5)
    assert isinstance(first, asyncio.CancelledError)
    assert others == [None] * 4
    assert federated.keystone.verifications == 1


def test_the_interval_starts_when_the_token_check_starts(federated: FederatedSession) -> None:
    revalidator, keystone, session = federated.revalidator(), federated.keystone, federated.session

    async def run() -> None:
        keystone.release = asyncio.Event()
        first = asyncio.create_task(revalidator.revalidate(session, ACCESS, HERE))
        while not keystone.verifications:  # noqa: ASYNC110 - the fake sends no event
            await asyncio.sleep(0)
        federated.clock.moment = NOW + 9
        second = asyncio.create_task(revalidator.revalidate(session, ACCESS, HERE))
        # The second request joins the check in its first step.
        await asyncio.sleep(0)
        keystone.release.set()
        await asyncio.gather(first, second)

    asyncio.run(run())
    assert keystone.verifications == 1
    federated.ensure_valid(revalidator, 10)
    assert keystone.verifications == 2


def test_interval_zero_shares_no_check_between_requests(federated: FederatedSession) -> None:
    ensure_valid_concurrently(federated.revalidator(every=0), federated, 5)
    assert federated.keystone.verifications == 5


def test_logout_succeeds_if_the_endpoint_is_unreachable(
    federated: FederatedSession, caplog: pytest.LogCaptureFixture
) -> None:
    federated.keystone.verdict = UpstreamTimeout()
    asyncio.run(federated.revalidator().revoke(federated.session, HERE))
    assert federated.keystone.revoked == 1
    assert "could not revoke a token at logout: upstream_timeout" in caplog.text


DETACH: Final = ("change", {"project": None})
ATTACH: Final = ("change", {"project": f"project@{ENDPOINT}"})


def change_tenant(federated: FederatedSession, now: int, verb: str, *values: object) -> None:
    with operator_transaction(federated.cloud, actor="tests", now=now) as transaction:
        getattr(TENANTS, verb)(transaction, "acme", *values)


@pytest.mark.parametrize(
    "changes",
    [[DETACH], [DETACH, ATTACH], [("disable",)], [("disable",), ("enable",)]],
    ids=["detached", "attached again", "disabled", "enabled again"],
)
def test_detaching_or_disabling_the_tenant_ends_federated_sessions_for_good(
    federated: FederatedSession, changes: list[tuple[Any, ...]]
) -> None:
    for change in changes:
        change_tenant(federated, NOW + 5, *change)
    assert federated.find() is None


def test_a_session_opened_while_its_tenant_was_disabled_stays_invalid(federated: FederatedSession) -> None:
    change_tenant(federated, NOW + 5, "disable")
    federated.open(b"later", NOW + 6)
    change_tenant(federated, NOW + 7, "enable")
    assert federated.find(b"later") is None

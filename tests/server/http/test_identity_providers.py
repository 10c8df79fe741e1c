"""The watch over guests' tokens: asked in time, by one for all, and a session whose token is no good is at its end."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert, select

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
from cloudconsole.store.activity import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.sessions import Session, SessionCache
from cloudconsole.store.sqlite.engine import open_engine
from cloudconsole.store.sqlite.reader import SqliteReader
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import access_audit, federated_sessions, sessions, tenants
from tests.harness import HeldClock

NOW = 1_800_000_000
HERE = ClientInfo("192.0.2.1", "request-1")
ENDPOINT = "https://identity.example"
ACCESS = CloudCredentials(
    ENDPOINT, "user", "project", {"RegionOne": {"compute": "https://compute.example/v2.1"}}, b"sealed"
)


class Keystone:
    """Vouches as it is told to, and counts how often it is asked."""

    def __init__(self) -> None:
        self.vouching: bool | Exception = True
        self.asked = 0
        self.revoked = 0
        self.gate: asyncio.Event | None = None

    async def is_valid(self, access: CloudCredentials, caller: ClientInfo) -> bool:
        assert (access, caller) == (ACCESS, HERE)
        self.asked += 1
        answer = self.vouching
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def revoke(self, access: CloudCredentials, caller: ClientInfo) -> None:
        assert (access, caller) == (ACCESS, HERE)
        self.revoked += 1
        if isinstance(self.vouching, Exception):
            raise self.vouching

    async def authenticate(self, username: str, password: str, caller: ClientInfo) -> None:
        raise AssertionError("nobody logs in here")

    async def knows_username(self, username: str) -> bool:
        raise AssertionError("nobody logs in here")


class Watched:
    """A vigil over one guest's session in a store of its own."""

    def __init__(self, folder: Path) -> None:
        prepare(folder)
        self.cloud, self.engine = open_engine(folder, "cloud"), open_engine(folder, "activity")
        with self.cloud.begin() as connection:
            connection.execute(insert(tenants).values(id=7, name="acme", project=f"project@{ENDPOINT}"))
        self.activity = ActivityStore(self.engine)
        self.reader = SqliteReader(folder)
        self.clock = HeldClock(NOW)
        self.keystone = Keystone()
        self.writer = Writer("writing", standalone_metrics())
        self._sessions = SessionCache(self.reader, 1800)
        self.open()

    def open(self, id_hash: bytes = b"hash", now: int = NOW) -> None:
        guest = FederatedUser("alice", 7, ACCESS, NOW + 3600)
        attempt = LoginAttempt("alice", "192.0.2.1", HERE)
        self.activity.open_session(attempt, guest, NewSession(id_hash, "seed", NOW + 3600, ()), now)

    def vigil(self, every: int = 10, *, endpoint: str = ENDPOINT) -> TokenRevalidator:
        ways_in = {
            endpoint: IdentityProvider(self.keystone, ConcurrencyLimiter(2, at_once=2, retry_after=1), self.keystone)
        }
        return TokenRevalidator(ways_in, every, self.clock, self.activity, self.writer)

    def find(self, id_hash: bytes = b"hash") -> Session | None:
        async def find() -> Session | None:
            await self.reader.changes.poll()
            return await self._sessions.find(id_hash, self.clock.now())

        return asyncio.run(find())

    @property
    def session(self) -> Session:
        found = self.find()
        assert found is not None
        return found

    def see(self, vigil: TokenRevalidator, moment: float) -> None:
        self.clock.moment = NOW + moment
        asyncio.run(vigil.ensure_valid(self.session, ACCESS, HERE))

    def close(self) -> None:
        self.reader.close()
        self.writer.close()
        self.cloud.dispose()
        self.engine.dispose()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    watching = Watched(tmp_path / "data")
    yield watching
    watching.close()


def events(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(access_audit.c.event).order_by(access_audit.c.id)))


def test_a_guests_session_has_its_access_and_no_account(watched: Watched) -> None:
    session = watched.session
    assert (session.tenant_id, session.username, session.role, session.credentials) == (7, "alice", "tenant", ACCESS)


def test_a_token_is_asked_about_again_only_after_the_time_set(watched: Watched) -> None:
    vigil = watched.vigil(every=10)
    vigil.opened(b"hash")
    for moment in (0, 5, 9.9, 10, 12, 19.9, 20):
        watched.see(vigil, moment)
    assert watched.keystone.asked == 2


def test_with_zero_it_is_asked_about_on_every_call(watched: Watched) -> None:
    vigil = watched.vigil(every=0)
    vigil.opened(b"hash")
    for _ in range(3):
        watched.see(vigil, 0)
    assert watched.keystone.asked == 3


def test_a_clock_set_back_asks_again(watched: Watched) -> None:
    vigil = watched.vigil()
    watched.see(vigil, 100)
    watched.see(vigil, 50)
    assert watched.keystone.asked == 2


def test_only_so_many_are_remembered(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_revalidation, "MAX_REMEMBERED", 2)
    vigil = watched.vigil()
    for id_hash in (b"1", b"2", b"3"):
        vigil.opened(id_hash)
    assert list(vigil._validated) == [b"3"]


def test_a_worker_that_did_not_open_the_session_asks_at_once(watched: Watched) -> None:
    watched.see(watched.vigil(), 0)
    assert watched.keystone.asked == 1


def test_a_token_that_is_no_good_any_more_ends_the_session_for_all(watched: Watched) -> None:
    watched.keystone.vouching = False
    with pytest.raises(LoginRequired):
        watched.see(watched.vigil(), 0)
    assert watched.find() is None
    with watched.engine.connect() as connection:
        assert not connection.execute(select(sessions)).all()
        assert not connection.execute(select(federated_sessions)).all()
    assert events(watched.engine) == ["login", "session_revoked"]


@pytest.mark.parametrize("failure", [UpstreamFailed(), UpstreamTimeout()])
def test_an_endpoint_that_cannot_be_asked_ends_nothing(watched: Watched, failure: Exception) -> None:
    vigil = watched.vigil()
    watched.keystone.vouching = failure
    with pytest.raises(type(failure)):
        watched.see(vigil, 0)
    watched.keystone.vouching = True
    watched.see(vigil, 0)
    assert watched.find() is not None


def test_an_endpoint_that_is_not_among_the_settings_any_more_ends_its_sessions(watched: Watched) -> None:
    with pytest.raises(LoginRequired):
        watched.see(watched.vigil(endpoint="https://another.example"), 0)
    assert watched.find() is None


def at_once(vigil: TokenRevalidator, watched: Watched, number: int) -> list[BaseException | None]:
    keystone, session = watched.keystone, watched.session

    async def all_of_them() -> list[BaseException | None]:
        keystone.gate = asyncio.Event()
        calls = [asyncio.create_task(vigil.ensure_valid(session, ACCESS, HERE)) for _ in range(number)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        calls[0].cancel()
        await asyncio.sleep(0)
        keystone.gate.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(all_of_them())


def test_calls_that_come_together_ask_once_and_go_on_where_the_first_has_left(watched: Watched) -> None:
    first, *others = at_once(watched.vigil(), watched, 5)
    assert isinstance(first, asyncio.CancelledError)
    assert others == [None] * 4
    assert watched.keystone.asked == 1


def test_what_a_slow_endpoint_says_counts_from_when_it_was_asked(watched: Watched) -> None:
    vigil, keystone, session = watched.vigil(), watched.keystone, watched.session

    async def one_and_another_later() -> None:
        keystone.gate = asyncio.Event()
        first = asyncio.create_task(vigil.ensure_valid(session, ACCESS, HERE))
        await asyncio.sleep(0.001)
        watched.clock.moment = NOW + 9
        second = asyncio.create_task(vigil.ensure_valid(session, ACCESS, HERE))
        await asyncio.sleep(0.001)
        keystone.gate.set()
        await asyncio.gather(first, second)

    asyncio.run(one_and_another_later())
    assert keystone.asked == 1
    watched.see(vigil, 10)
    assert keystone.asked == 2


def test_with_zero_every_one_of_them_asks_itself(watched: Watched) -> None:
    at_once(watched.vigil(every=0), watched, 5)
    assert watched.keystone.asked == 5


def test_a_logout_revokes_the_token(watched: Watched) -> None:
    asyncio.run(watched.vigil().revoke(watched.session, HERE))
    assert watched.keystone.revoked == 1


def test_a_logout_goes_through_where_the_endpoint_cannot_be_reached(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.keystone.vouching = UpstreamTimeout()
    asyncio.run(watched.vigil().revoke(watched.session, HERE))
    assert "could not revoke a token at logout: upstream_timeout" in caplog.text


def change_tenant(watched: Watched, verb: str, now: int = NOW + 5) -> None:
    with operator_transaction(watched.cloud, actor="tests", now=now) as desk:
        getattr(TENANTS, verb)(desk, "acme")


def test_a_project_that_its_tenant_is_no_longer_ends_a_guests_session(watched: Watched) -> None:
    with operator_transaction(watched.cloud, actor="tests", now=NOW + 5) as desk:
        TENANTS.change(desk, "acme", {"project": None})
    assert watched.find() is None


def test_it_stays_ended_when_the_tenant_is_its_project_again(watched: Watched) -> None:
    for project in (None, f"project@{ENDPOINT}"):
        with operator_transaction(watched.cloud, actor="tests", now=NOW + 5) as desk:
            TENANTS.change(desk, "acme", {"project": project})
    assert watched.find() is None


def test_a_session_that_was_opened_while_its_tenant_was_disabled_is_none_later(watched: Watched) -> None:
    change_tenant(watched, "disable")
    watched.open(b"later", NOW + 6)
    change_tenant(watched, "enable", NOW + 7)
    assert watched.find(b"later") is None


def test_disabling_its_tenant_ends_a_guests_session_for_good(watched: Watched) -> None:
    change_tenant(watched, "disable")
    assert watched.find() is None
    change_tenant(watched, "enable")
    assert watched.find() is None

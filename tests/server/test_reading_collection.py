"""Hourly readings for the billing record: which projects, with which sessions, and what failures do."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import insert

from cloudconsole.backends.openstack.secret_files import ApplicationCredential
from cloudconsole.core.ports import ClientInfo, CloudCredentials, FederatedUser, Tenant
from cloudconsole.core.resources import Amounts, BillableResource
from cloudconsole.server import reading_collection
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.server.reading_collection import RETRY_SECONDS, SWEEP_SECONDS, QueueingRecorder, ReadingCollector
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError, LoginRequired, UpstreamTimeout
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.billing.readings import Reading
from cloudconsole.store.tables import billing_entries, reading_periods, tenants
from tests.harness import FakeClock
from tests.server.http.helpers import rows
from tests.stores import make_fail, open_reader, opened, run, write_transaction

ENDPOINT = "https://cloud.example:5000"
CLIENT = ClientInfo("192.0.2.1", "req-1")
NOW = 1_794_772_805
"""20:00:05 UTC on 15 November 2026."""
IDLE_SECONDS = 1800


@dataclass
class Cloud:
    """A fake cloud with one volume per project; records with which token it was read."""

    recorder: QueueingRecorder
    clock: FakeClock
    rejected: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    is_down: bool = False

    def __post_init__(self) -> None:
        self.read_with: list[str] = []

    def reading(self, project: str) -> Reading:
        now = int(self.clock.now())
        resource = BillableResource("west", "volume", f"volume-of-{project}", Amounts(1, size_gb=1))
        return Reading(f"{project}@{ENDPOINT}", now, now - 3600, [resource])

    async def record_resources(self, tenant: Tenant) -> float:
        assert tenant.credentials is not None
        token = tenant.credentials.encrypted_token.decode()
        self.read_with.append(token)
        if self.is_down or token in self.forbidden:
            raise UpstreamTimeout
        if token in self.broken:
            raise KeyError(token)
        if token in self.rejected:
            raise LoginRequired
        await self.recorder.record(self.reading(tenant.credentials.project_id))
        return self.clock.now() + 30


class Keystone:
    """A fake Keystone with an application credential per project, whose ID is the name of the project."""

    def __init__(self) -> None:
        self.is_down = False
        self.logins: list[str] = []
        self.revoked: list[str] = []

    async def use_application_credential(
        self, credential: ApplicationCredential, _client: ClientInfo
    ) -> FederatedUser | None:
        self.logins.append(credential.id)
        if self.is_down:
            raise UpstreamTimeout
        if credential.secret != "secret":
            return None
        token = f"token of {credential.id}"
        access = CloudCredentials(ENDPOINT, "service", credential.id, {}, token.encode())
        return FederatedUser("service", 7, access, NOW + 7200)

    async def revoke(self, access: CloudCredentials, _client: ClientInfo) -> None:
        self.revoked.append(access.encrypted_token.decode())


@dataclass
class CollectingWorker:
    cloud: Cloud
    collector: ReadingCollector
    recorder: QueueingRecorder
    activity: ActivityStore
    clock: FakeClock
    data: Path
    monotonic: FakeClock
    keystone: "Keystone"

    def give_credentials(self, text: str, mode: int = 0o600) -> None:
        file = self.data / "credentials"
        file.write_text(text)
        file.chmod(mode)

    def open_session(self, project: str, token: str, *, seconds: int = 7200) -> None:
        names = [row.project for row in rows(self.data, tenants)]
        if f"{project}@{ENDPOINT}" not in names:
            with write_transaction(self.data, "cloud") as connection:
                values = {"id": 100 + len(names), "name": project, "project": f"{project}@{ENDPOINT}"}
                connection.execute(insert(tenants).values(values))
        tenant_id = next(row.id for row in rows(self.data, tenants) if row.name == project)
        now = int(self.clock.now())
        access = CloudCredentials(ENDPOINT, "alice", project, {}, token.encode())
        user = FederatedUser("alice", tenant_id, access, now + seconds)
        session = NewSession(token.encode(), "seed", now + seconds, ())
        self.activity.open_session(LoginAttempt("alice", "192.0.2.1", CLIENT), user, session, now)

    def sweep(self, seconds: int = 0) -> list[str]:
        """Advance the clock, do what is due, and return the tokens of new readings."""
        self.clock.moment += seconds
        self.monotonic.moment += SWEEP_SECONDS
        before = len(self.cloud.read_with)

        async def work() -> None:
            self.collector.tick()
            await asyncio.gather(*(task for task in (self.collector.sweep, self.collector.recording) if task))

        run(work())
        return sorted(self.cloud.read_with[before:])


Start = Callable[[], CollectingWorker]


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start workers that share one store and one cloud."""
    clock = FakeClock(NOW)
    (folder / "credentials").touch(0o600)
    with ExitStack() as stack:
        activity = ActivityStore(stack.enter_context(opened(folder, "activity")))
        engine = stack.enter_context(opened(folder, "cloud"))
        reader = stack.enter_context(open_reader(folder))
        writer = Writer("writing", standalone_metrics())
        stack.callback(writer.close)
        recorder = QueueingRecorder(engine, writer, UTC)
        cloud = Cloud(recorder, clock)

        def start_worker() -> CollectingWorker:
            monotonic, keystone = FakeClock(1000), Keystone()
            files = [(folder / "credentials", keystone)]
            collector = ReadingCollector(cloud, recorder, reader, clock, UTC, IDLE_SECONDS, files, monotonic.now)
            return CollectingWorker(cloud, collector, recorder, activity, clock, folder, monotonic, keystone)

        yield start_worker


@pytest.fixture
def worker(start: Start) -> CollectingWorker:
    return start()


def test_each_project_with_a_live_session_is_read_once_per_hour(start: Start) -> None:
    worker, other = start(), start()
    for project in ("acme", "globex"):
        worker.open_session(project, f"{project}-1")
        worker.open_session(project, f"{project}-2")
    found = [token.partition("-")[0] for token in worker.sweep() + other.sweep(60) + worker.sweep(60)]
    assert found == ["acme", "globex"]
    worker.clock.moment = NOW + 3600
    worker.open_session("acme", "acme-3")
    worker.open_session("globex", "globex-3")
    assert worker.sweep() == ["acme-3", "globex-3"]
    assert [row.last_reading for row in rows(worker.data, reading_periods)] == [int(worker.clock.now())] * 2


def test_sessions_that_are_idle_or_expired_are_not_used(worker: CollectingWorker) -> None:
    worker.open_session("acme", "expired", seconds=60)
    assert worker.sweep(61) == []
    worker.open_session("acme", "idle")
    assert worker.sweep(IDLE_SECONDS) == []
    assert not rows(worker.data, reading_periods)


def test_a_rejected_token_is_replaced_by_another_session(worker: CollectingWorker) -> None:
    worker.open_session("acme", "good")
    worker.clock.moment += 1
    worker.open_session("acme", "revoked")
    worker.cloud.rejected = frozenset({"revoked"})
    assert worker.sweep() == ["good", "revoked"]
    assert worker.sweep(3600) == []
    worker.open_session("acme", "new")
    assert worker.sweep() == ["new"]


@pytest.mark.parametrize("error", [UpstreamTimeout, LoginRequired])
def test_a_failed_reading_is_tried_again(
    worker: CollectingWorker, caplog: pytest.LogCaptureFixture, error: type[ApiError]
) -> None:
    worker.open_session("acme", "token")
    worker.open_session("globex", "other")
    worker.cloud.is_down = error is UpstreamTimeout
    worker.cloud.rejected = frozenset({"token"})
    worker.sweep()
    worker.cloud.is_down, worker.cloud.rejected = False, frozenset()
    assert worker.sweep(60) == (["other", "token"] if error is UpstreamTimeout else [])
    assert ("could not read resources for the billing record: upstream_timeout" in caplog.text) == (
        error is UpstreamTimeout
    )


def test_another_session_is_used_if_one_fails(worker: CollectingWorker) -> None:
    worker.open_session("acme", "good")
    worker.clock.moment += 1
    worker.open_session("acme", "forbidden")
    worker.cloud.forbidden = frozenset({"forbidden"})
    assert worker.sweep() == ["forbidden", "good"]
    assert len(rows(worker.data, reading_periods)) == 1


def test_one_project_that_fails_unexpectedly_stops_no_other(
    worker: CollectingWorker, caplog: pytest.LogCaptureFixture
) -> None:
    worker.open_session("acme", "broken")
    worker.open_session("globex", "good")
    worker.cloud.broken = frozenset({"broken"})
    assert worker.sweep() == ["broken", "good"]
    assert len(rows(worker.data, reading_periods)) == 1
    assert "could not read a project" in caplog.text


def test_a_failed_write_is_logged_and_tried_again(worker: CollectingWorker, caplog: pytest.LogCaptureFixture) -> None:
    worker.open_session("acme", "token")
    with write_transaction(worker.data, "cloud") as connection:
        make_fail(connection, "INSERT ON billing_entries", "the disk is full")
    worker.sweep()
    assert "could not record a reading" in caplog.text
    assert worker.sweep(60) == ["token"]


# Application credentials


def test_projects_with_an_application_credential_are_read_without_a_session(worker: CollectingWorker) -> None:
    with write_transaction(worker.data, "cloud") as connection:
        connection.execute(insert(tenants).values({"id": 7, "name": "acme", "project": f"acme@{ENDPOINT}"}))
    worker.give_credentials("# of tenants\n\nacme secret\n")
    for hour in range(2):
        worker.clock.moment = NOW + 3600 * hour
        assert worker.sweep() == ["token of acme"]
        assert worker.sweep(60) == []
    assert worker.keystone.revoked == ["token of acme"] * 2
    assert len(worker.keystone.logins) == 2
    assert [row.last_reading for row in rows(worker.data, reading_periods)] == [NOW + 3600]


def test_a_rejected_credential_is_tried_again_in_the_next_hour(
    worker: CollectingWorker, caplog: pytest.LogCaptureFixture
) -> None:
    worker.give_credentials("# none yet\nacme wrong")
    worker.sweep()
    worker.sweep(RETRY_SECONDS)
    assert worker.keystone.logins == ["acme"]
    worker.sweep(3600 - RETRY_SECONDS)
    assert worker.keystone.logins == ["acme"] * 2
    assert "the application credential in line 2 of" in caplog.text
    # An ID may be a secret by mistake.
    assert not any(word in caplog.text for word in ("acme", "wrong"))


@pytest.mark.parametrize("broken", ["keystone", "cloud"])
def test_a_failure_with_a_credential_is_tried_again_after_a_pause(worker: CollectingWorker, broken: str) -> None:
    worker.give_credentials("acme secret")
    getattr(worker, broken).is_down = True
    worker.sweep()
    worker.sweep(RETRY_SECONDS - 1)
    assert worker.keystone.logins == ["acme"]
    getattr(worker, broken).is_down = False
    worker.sweep(1)
    assert worker.keystone.logins == ["acme"] * 2
    assert len(rows(worker.data, reading_periods)) == 1
    assert len(worker.keystone.revoked) == (2 if broken == "cloud" else 1)


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("acme hidden", 0o644, "other users have access"),
        ("acme hidden more", 0o600, "line 1 of"),
        ("# comment\nacme", 0o600, "line 2 of"),
        ("acme hidden-é", 0o600, "line 1 of"),
        ("a b\n" * 20_000, 0o600, "has more than 64 KiB"),
    ],
)
def test_an_invalid_file_of_credentials_is_logged_without_secrets(
    worker: CollectingWorker, caplog: pytest.LogCaptureFixture, text: str, mode: int, message: str
) -> None:
    worker.give_credentials(text, mode)
    worker.sweep()
    assert message in caplog.text
    assert "hidden" not in caplog.text
    assert worker.keystone.logins == []


# Readings that wait


def test_readings_of_requests_are_recorded_later(worker: CollectingWorker) -> None:
    worker.sweep()
    worker.recorder.add(worker.cloud.reading("acme"))
    worker.recorder.add(worker.cloud.reading("globex"))
    assert not rows(worker.data, billing_entries)
    worker.monotonic.moment -= SWEEP_SECONDS
    worker.sweep()
    assert len(rows(worker.data, billing_entries)) == 2
    assert not worker.recorder.has_pending


def test_the_same_reading_is_written_once_per_hour(worker: CollectingWorker) -> None:
    def last_reading() -> int:
        (row,) = rows(worker.data, reading_periods)
        return int(row.last_reading) - NOW

    for seconds, expected in ((0, 0), (10, 0), (3600, 3600), (3610, 3600)):
        worker.clock.moment = NOW + seconds
        run(worker.recorder.record(worker.cloud.reading("acme")))
        assert last_reading() == expected
    worker.clock.moment += 5
    run(worker.recorder.record(replace(worker.cloud.reading("acme"), resources=[])))
    assert last_reading() == 3615


def test_readings_that_wait_are_bounded(worker: CollectingWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_collection, "MAX_PENDING", 2)
    for project in ("p1", "p2", "p3", "p1"):
        worker.recorder.add(worker.cloud.reading(project))
    run(worker.recorder.record_pending())
    assert len(rows(worker.data, reading_periods)) == 2


def test_the_collector_stops_in_the_middle_of_a_reading(worker: CollectingWorker) -> None:
    async def close_while_reading() -> bool:
        worker.collector.tick()
        task = worker.collector.sweep
        await worker.collector.close()
        worker.collector.tick()
        return worker.collector.sweep is task

    assert run(close_while_reading())

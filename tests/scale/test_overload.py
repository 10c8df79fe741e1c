"""Overload for some seconds: memory stays bounded, every response is valid, and service returns to normal.

No latency is asserted, since machines may be busy; the benchmark measures it.
"""

import resource
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path

import psycopg
import pytest
from bench.raw_http import SessionCookies, action_request, login_request
from cluster.load_generator import LoadGenerator, LoadResult
from cluster.postgres import PostgresServer

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.runtime.worker import OTHER_FILES
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import children_of, eventually
from tests.harness import ApiClient, HttpTransport, RunningServer, running_server

pytestmark = pytest.mark.slow

OVERLOAD_SECONDS = 4
FACTOR = 10
CONNECTIONS = 1000
MAX_GROWTH_MB = 150
"""Maximum growth of a worker."""
IDLE_FILES = 60
"""A worker without client connections has fewer open files."""
SESSIONS = 20_000
COPY_SESSION = """
    INSERT INTO sessions (id_hash, account_id, account_version, csrf_seed, seen_at, expires_at)
    SELECT sha256(convert_to('s' || lpad(to_hex(number), 48, '0'), 'UTF8')),
        account_id, account_version, csrf_seed, seen_at, expires_at
    FROM sessions, generate_series(0, %(number)s - 1) AS number
    WHERE id_hash = sha256(convert_to(%(session)s, 'UTF8'))
"""
ON_BOTH_STORES = pytest.mark.parametrize("flags", ["embedded", "postgresql"], indirect=True)


@pytest.fixture
def flags(request: pytest.FixtureRequest) -> list[str]:
    """Flags of the console; its store is embedded unless a test selects PostgreSQL."""
    database = request.getfixturevalue("sample_dsn") if getattr(request, "param", None) == "postgresql" else None
    return ["--access-log", "false", *([] if database is None else ["--database", database])]


@pytest.fixture
def sample_dsn(postgres: PostgresServer, migrated_template: str) -> str:
    """The DSN of a database with the sample cloud."""
    store = PostgresStore(Dsn(postgres.address(migrated_template)))
    with store.opened("cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="tests")
    return postgres.address(migrated_template)


@pytest.fixture
def console(flags: list[str], request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    """A server with real password hashes; a test may add flags."""
    with running_server(tmp_path, *flags, *getattr(request, "param", ()), is_first=True) as server:
        yield server


@pytest.fixture
def demo(console: RunningServer) -> Iterator[ApiClient]:
    """A logged-in client."""
    transport = HttpTransport(console.base)
    client = ApiClient(transport)
    assert client.login().status == 200
    yield client
    transport.close()


def usage_request(demo: ApiClient) -> bytes:
    return action_request(_cookies(demo), "GetUsageLimits")


def _cookies(client: ApiClient) -> SessionCookies:
    return SessionCookies(client.cookies["sessionid"], client.token)


def peak_memory_mb(server: RunningServer) -> float:
    """Return the peak memory of the server's largest process."""
    processes = {server.process.pid} | children_of(server.process.pid)
    lines = [Path(f"/proc/{each}/status").read_text().splitlines() for each in processes]
    return max(int(line.split()[1]) for each in lines for line in each if line.startswith("VmHWM:")) / 1024


def open_files(server: RunningServer) -> int:
    processes = {server.process.pid} | children_of(server.process.pid)
    return sum(len(list(Path(f"/proc/{each}/fd").iterdir())) for each in processes)


@contextmanager
def bounded_memory(server: RunningServer, megabytes: int = MAX_GROWTH_MB) -> Iterator[None]:
    before = peak_memory_mb(server)
    yield
    assert peak_memory_mb(server) - before < megabytes


def sustainable_rate(port: int, action: bytes) -> float:
    """Measure the rate of a few clients that each send the next request after a response."""
    with LoadGenerator(port, 16) as generator:
        assert set(generator.warm_up().statuses) == {200}
        result = generator.send([action], 50_000, 1)
    assert set(result.statuses) == {200}
    return len(result.responses)


def check_responses(result: LoadResult, *, allowed: Sequence[int] = (200, 503)) -> None:
    """Check that every request got a response, and every rejection a `Retry-After`."""
    assert set(result.statuses) <= set(allowed)
    assert result.statuses[200] > 0
    assert (result.lost, result.timed_out, result.without_retry_after) == (0, 0, 0)


def check_normal_service(port: int, action: bytes) -> None:
    """Wait until all of 300 concurrent requests are served again."""
    with LoadGenerator(port, 300) as generator:
        generator.warm_up()
        for _ in range(120):
            # The clients honour Retry-After.
            time.sleep(1)
            if generator.send_once(action, 300).statuses == {200: 300}:
                return
    raise AssertionError("some requests are still rejected")


@ON_BOTH_STORES
def test_ten_times_the_sustainable_rate_is_shed(console: RunningServer, demo: ApiClient) -> None:
    action = usage_request(demo)
    rate = sustainable_rate(console.port, action)
    with bounded_memory(console):
        with LoadGenerator(console.port, CONNECTIONS) as generator:
            generator.warm_up()
            result = generator.send([action], FACTOR * rate, OVERLOAD_SECONDS, timeout=120)
        check_responses(result)
        assert result.statuses[503] > 0
        check_normal_service(console.port, action)
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("flags", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("is_real", "status"), [(False, 401), (True, 200)])
def test_flood_of_uncached_sessions_is_shed(
    console: RunningServer, demo: ApiClient, sample_dsn: str, is_real: bool, status: int
) -> None:
    """There are more lookups than the wait queue of the read pool accepts."""
    cookies = _cookies(demo)
    if is_real:
        with psycopg.connect(sample_dsn) as connection:
            connection.execute(COPY_SESSION, {"session": cookies.session_id, "number": SESSIONS})
    requests = [
        action_request(SessionCookies(f"s{number:048x}", cookies.csrf_token), "GetUsageLimits")
        for number in range(SESSIONS)
    ]
    with bounded_memory(console):
        with LoadGenerator(console.port, CONNECTIONS) as generator:
            generator.warm_up()
            result = generator.send(requests, 20_000, OVERLOAD_SECONDS, timeout=120)
        assert set(result.statuses) == {status, 503}
        assert (result.lost, result.timed_out, result.without_retry_after) == (0, 0, 0)
        check_normal_service(console.port, usage_request(demo))


def test_health_checks_succeed_during_overload(console: RunningServer, demo: ApiClient) -> None:
    action, health_statuses = usage_request(demo), Counter[int]()
    with LoadGenerator(console.port, CONNECTIONS) as generator:
        generator.warm_up()
        done = threading.Event()

        def poll_health() -> None:
            transport = HttpTransport(console.base)
            while not done.is_set():
                health_statuses.update(transport.send("GET", path, []).status for path in ("/healthz", "/readyz"))
            transport.close()

        poller = threading.Thread(target=poll_health)
        poller.start()
        try:
            result = generator.send([action], 50_000, OVERLOAD_SECONDS)
        finally:
            done.set()
            poller.join()
    assert result.statuses[503] > 0
    assert set(health_statuses) == {200}


@ON_BOTH_STORES
def test_login_flood_does_not_affect_actions(console: RunningServer, demo: ApiClient) -> None:
    anonymous = ApiClient(demo.transport)
    anonymous.open()
    login, flood = login_request(_cookies(anonymous), "demo", "console-demo"), list[LoadResult]()
    with (
        bounded_memory(console),
        LoadGenerator(console.port, 200) as login_generator,
        LoadGenerator(console.port, 8) as action_generator,
    ):
        login_generator.warm_up()
        action_generator.warm_up()
        flood_thread = threading.Thread(
            target=lambda: flood.append(login_generator.send([login], 500, OVERLOAD_SECONDS, timeout=120))
        )
        flood_thread.start()
        actions = action_generator.send([usage_request(demo)], 200, OVERLOAD_SECONDS)
        flood_thread.join()
    assert set(actions.statuses) == {200}
    assert (actions.lost, actions.timed_out) == (0, 0)
    assert set(flood[0].statuses) == {200, 503}
    assert flood[0].without_retry_after == 0
    assert ApiClient(demo.transport).login().status == 200


def test_five_thousand_idle_connections_are_accepted(console: RunningServer, demo: ApiClient) -> None:
    count = 5000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, count + OTHER_FILES), hard), hard))
    with bounded_memory(console), LoadGenerator(console.port, count) as idle:
        result = idle.warm_up()
        assert result.statuses == {200: count}
        assert demo.call("GetUsageLimits").status == 200
        assert set(idle.send([usage_request(demo)], 500, 2).statuses) == {200}
    eventually(lambda: open_files(console) < IDLE_FILES)

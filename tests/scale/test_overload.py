"""Overload for some seconds: memory stays bounded, every response is valid, and service returns to normal.

No latency is asserted, since machines may be busy; the benchmark measures it.
"""

import resource
import threading
import time
from collections.abc import Iterator
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
ON_BOTH_STORES = pytest.mark.parametrize("console", ["embedded", "postgresql"], indirect=True)


@pytest.fixture
def sample_dsn(postgres: PostgresServer, migrated_template: str) -> str:
    """The DSN of a database with the sample cloud."""
    store = PostgresStore(Dsn(postgres.address(migrated_template)))
    with store.opened("cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="tests")
    return postgres.address(migrated_template)


@pytest.fixture
def console(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    """A server with real password hashes; its store is embedded unless a test selects PostgreSQL."""
    is_embedded = getattr(request, "param", "embedded") == "embedded"
    database = [] if is_embedded else ["--database", request.getfixturevalue("sample_dsn")]
    with running_server(tmp_path, "--access-log", "false", *database, is_first=True) as server:
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


def processes(server: RunningServer) -> list[Path]:
    """Return the /proc directories of the server's processes."""
    return [Path(f"/proc/{each}") for each in {server.process.pid} | children_of(server.process.pid)]


def peak_memory_mb(server: RunningServer) -> float:
    """Return the peak memory of the server's largest process."""
    lines = [line for each in processes(server) for line in (each / "status").read_text().splitlines()]
    return max(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


@contextmanager
def bounded_memory(server: RunningServer) -> Iterator[None]:
    before = peak_memory_mb(server)
    yield
    assert peak_memory_mb(server) - before < MAX_GROWTH_MB


def sustainable_rate(port: int, action: bytes) -> float:
    """Measure the rate of a few clients that each send the next request after a response."""
    with LoadGenerator(port, 16) as generator:
        assert set(generator.warm_up().statuses) == {200}
        result = generator.send([action], 50_000, 1)
    assert set(result.statuses) == {200}
    return len(result.responses)


def check_every_request_got_a_response(result: LoadResult) -> None:
    """And every rejection a `Retry-After`."""
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
        assert set(result.statuses) == {200, 503}
        check_every_request_got_a_response(result)
        check_normal_service(console.port, action)
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("console", ["postgresql"], indirect=True)
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
        check_every_request_got_a_response(result)
        check_normal_service(console.port, usage_request(demo))


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
    eventually(lambda: sum(len(list((each / "fd").iterdir())) for each in processes(console)) < IDLE_FILES)

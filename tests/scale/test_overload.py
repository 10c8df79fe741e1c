"""Far too much at once, for some seconds: memory stays bounded, all answers are in order, then all is as ever.

No time is asserted: on a busy machine everything takes long. What it takes on a quiet one, the benchmark tells.
"""

import resource
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC
from pathlib import Path

import psycopg
import pytest
from bench.raw_http import SessionCookies as Known
from bench.raw_http import action_request, login_request
from cluster.load_generator import LoadGenerator, LoadResult
from cluster.postgres import PostgresServer

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.runtime.worker import OTHER_FILES
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import children_of, eventually
from tests.e2e.raw_http import Raw, request
from tests.harness import Caller, OverHttp, RunningServer, running_server

pytestmark = pytest.mark.long

OVERLOAD_SECONDS = 4
FACTOR = 10
CROWD = 1000
BURST = 500
"""Calls at once that everybody is answered."""
MOST_MB = 150
"""That a worker may grow by, whatever comes."""
FEW_FILES = 60
"""A worker that has next to no connections has fewer open."""
SESSIONS = 20_000
COPY_SESSION = """
    INSERT INTO sessions (id_hash, account_id, account_version, csrf_seed, seen_at, expires_at)
    SELECT sha256(convert_to('s' || lpad(to_hex(number), 48, '0'), 'UTF8')),
        account_id, account_version, csrf_seed, seen_at, expires_at
    FROM sessions, generate_series(0, %(number)s - 1) AS number
    WHERE id_hash = sha256(convert_to(%(session)s, 'UTF8'))
"""
SLOW = ("--request-timeout", "3")
ON_BOTH_STORES = pytest.mark.parametrize("flags", ["embedded", "postgresql"], indirect=True)


@pytest.fixture
def flags(request: pytest.FixtureRequest) -> list[str]:
    """Settings of the console under load; its store is an embedded one unless a test asks for another."""
    database = request.getfixturevalue("sampled") if getattr(request, "param", None) == "postgresql" else None
    return ["--access-log", "false", *([] if database is None else ["--database", database])]


@pytest.fixture
def sampled(postgres: PostgresServer, with_tables: str) -> str:
    """The address of a database with the sample cloud."""
    store = PostgresStore(Dsn(postgres.address(with_tables)))
    with store.opened("cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="tests")
    return postgres.address(with_tables)


@pytest.fixture
def console(flags: list[str], request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    """With passwords that cost what they cost; a test may add flags."""
    with running_server(tmp_path, *flags, *getattr(request, "param", ()), is_first=True) as server:
        yield server


@pytest.fixture
def demo(console: RunningServer) -> Iterator[Caller]:
    """Someone logged in."""
    wire = OverHttp(console.base)
    caller = Caller(wire)
    assert caller.login().status == 200
    yield caller
    wire.close()


def call_of(demo: Caller) -> bytes:
    return action_request(_known(demo), "GetUsageLimits")


def _known(caller: Caller) -> Known:
    return Known(caller.cookies["sessionid"], caller.token)


def held_mb(server: RunningServer) -> float:
    """The most that any of its processes ever held in memory."""
    processes = {server.process.pid} | children_of(server.process.pid)
    lines = [Path(f"/proc/{each}/status").read_text().splitlines() for each in processes]
    return max(int(line.split()[1]) for each in lines for line in each if line.startswith("VmHWM:")) / 1024


def open_files(server: RunningServer) -> int:
    processes = {server.process.pid} | children_of(server.process.pid)
    return sum(len(list(Path(f"/proc/{each}/fd").iterdir())) for each in processes)


@contextmanager
def bounded_memory(server: RunningServer, megabytes: int = MOST_MB) -> Iterator[None]:
    before = held_mb(server)
    yield
    assert held_mb(server) - before < megabytes


def sustainable_rate(port: int, call: bytes) -> float:
    """What a few callers get who each call again as soon as they are answered."""
    with LoadGenerator(port, 16) as few:
        assert set(few.warm_up().statuses) == {200}
        outcome = few.send([call], 50_000, 1)
    assert set(outcome.statuses) == {200}
    return len(outcome.responses)


def check_answers(outcome: LoadResult, *, allowed: Sequence[int] = (200, 503)) -> None:
    """Nobody is left without an answer, or with one that does not say when to come back."""
    assert set(outcome.statuses) <= set(allowed)
    assert outcome.statuses[200] > 0
    assert (outcome.lost, outcome.timed_out, outcome.without_retry_after) == (0, 0, 0)


def check_normal_service(port: int, call: bytes) -> None:
    """After a moment everybody is served again, some hundred at once included."""
    with LoadGenerator(port, 300) as crowd:
        crowd.warm_up()
        for _ in range(20):
            # Callers that come back when they were told to.
            time.sleep(1)
            if crowd.send_once(call, 300).statuses == {200: 300}:
                return
    raise AssertionError("there is still someone who is not served")


def test_a_burst_of_some_hundred_calls_is_answered(console: RunningServer, demo: Caller) -> None:
    with LoadGenerator(console.port, BURST) as crowd:
        crowd.warm_up()
        assert crowd.send_once(call_of(demo), BURST).statuses == {200: BURST}


@ON_BOTH_STORES
def test_ten_times_the_rate_that_can_be_kept_up(console: RunningServer, demo: Caller) -> None:
    call = call_of(demo)
    rate = sustainable_rate(console.port, call)
    with bounded_memory(console):
        with LoadGenerator(console.port, CROWD) as crowd:
            crowd.warm_up()
            outcome = crowd.send([call], FACTOR * rate, OVERLOAD_SECONDS, timeout=30)
        check_answers(outcome)
        assert outcome.statuses[503] > 0
        check_normal_service(console.port, call)
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize("ending", [[], [("Connection", "close")]], ids=["kept connections", "a connection a call"])
def test_a_flood_of_visitors(console: RunningServer, demo: Caller, ending: list[tuple[str, str]]) -> None:
    with bounded_memory(console):
        with LoadGenerator(console.port, 300) as crowd:
            crowd.warm_up()
            outcome = crowd.send([request("GET", "/api/", ending)], 50_000, OVERLOAD_SECONDS, timeout=30)
        assert set(outcome.statuses) <= {200, 503}
        assert outcome.statuses[200] > 0
        assert (outcome.timed_out, outcome.without_retry_after) == (0, 0)
        check_normal_service(console.port, call_of(demo))


@pytest.mark.parametrize("flags", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("is_real", "status"), [(False, 401), (True, 200)])
def test_a_flood_of_sessions_that_must_be_looked_for(
    console: RunningServer, demo: Caller, sampled: str, is_real: bool, status: int
) -> None:
    """More than there is room for in the line before the database."""
    known = _known(demo)
    if is_real:
        with psycopg.connect(sampled) as connection:
            connection.execute(COPY_SESSION, {"session": known.session_id, "number": SESSIONS})
    calls = [action_request(Known(f"s{number:048x}", known.csrf_token), "GetUsageLimits") for number in range(SESSIONS)]
    with bounded_memory(console):
        with LoadGenerator(console.port, CROWD) as crowd:
            crowd.warm_up()
            outcome = crowd.send(calls, 20_000, OVERLOAD_SECONDS, timeout=30)
        assert set(outcome.statuses) == {status, 503}
        assert (outcome.lost, outcome.timed_out, outcome.without_retry_after) == (0, 0, 0)
        check_normal_service(console.port, call_of(demo))


def test_health_checks_are_answered_in_a_crowd(console: RunningServer, demo: Caller) -> None:
    call, healthy = call_of(demo), Counter[int]()
    with LoadGenerator(console.port, CROWD) as crowd:
        crowd.warm_up()
        done = threading.Event()

        def watch() -> None:
            wire = OverHttp(console.base)
            while not done.is_set():
                healthy.update(wire.send("GET", path, []).status for path in ("/healthz", "/readyz"))
            wire.close()

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            outcome = crowd.send([call], 50_000, OVERLOAD_SECONDS)
        finally:
            done.set()
            watching.join()
    assert outcome.statuses[503] > 0
    assert set(healthy) == {200}


@ON_BOTH_STORES
def test_a_flood_of_logins_leaves_calls_alone(console: RunningServer, demo: Caller) -> None:
    visitor = Caller(demo.wire)
    visitor.open()
    login, flood = login_request(_known(visitor), "demo", "console-demo"), list[LoadResult]()
    with bounded_memory(console), LoadGenerator(console.port, 200) as people, LoadGenerator(console.port, 8) as callers:
        people.warm_up()
        callers.warm_up()
        flooding = threading.Thread(
            target=lambda: flood.append(people.send([login], 500, OVERLOAD_SECONDS, timeout=60))
        )
        flooding.start()
        calls = callers.send([call_of(demo)], 200, OVERLOAD_SECONDS)
        flooding.join()
    assert set(calls.statuses) == {200}
    assert (calls.lost, calls.timed_out) == (0, 0)
    assert set(flood[0].statuses) == {200, 503}
    assert flood[0].without_retry_after == 0
    assert Caller(demo.wire).login().status == 200


def test_five_thousand_idle_connections(console: RunningServer, demo: Caller) -> None:
    wanted = 5000
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(least, wanted + OTHER_FILES), most), most))
    with bounded_memory(console), LoadGenerator(console.port, wanted) as idle:
        outcome = idle.warm_up()
        assert outcome.statuses == {200: wanted}
        assert demo.call("GetUsageLimits").status == 200
        assert set(idle.send([call_of(demo)], 500, 2).statuses) == {200}
    eventually(lambda: open_files(console) < FEW_FILES)


@pytest.mark.parametrize("console", [SLOW], indirect=True)
def test_callers_that_never_read(console: RunningServer, demo: Caller) -> None:
    with ExitStack() as stack, bounded_memory(console):
        for _ in range(200):
            raw = stack.enter_context(_connected(console))
            raw.send(request("GET", "/openapi.json") * 50)
        assert demo.call("GetUsageLimits").status == 200
        eventually(lambda: open_files(console) < FEW_FILES)
    assert demo.call("GetUsageLimits").status == 200


@pytest.mark.parametrize("console", [SLOW], indirect=True)
@pytest.mark.parametrize(
    "beginning",
    [b"POST /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", request("POST", "/api/", [("Content-Length", "60000")])],
    ids=["heads", "bodies"],
)
def test_callers_that_send_drop_by_drop(console: RunningServer, demo: Caller, beginning: bytes) -> None:
    with ExitStack() as stack, bounded_memory(console):
        callers = [stack.enter_context(_connected(console)) for _ in range(300)]
        for raw in callers:
            raw.send(beginning)
        while any(raw.send_until_refused([b"x"]) for raw in callers):
            assert demo.call("GetUsageLimits").status == 200
        eventually(lambda: open_files(console) < FEW_FILES)
    assert demo.call("GetUsageLimits").status == 200


@contextmanager
def _connected(console: RunningServer) -> Iterator[Raw]:
    raw = Raw(console.connect())
    try:
        yield raw
    finally:
        raw.close()

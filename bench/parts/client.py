"""The Python client against its HTTP library, and the CPU time of starting it."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx2

from bench import servers
from bench.datasets import DatasetSpec, sqlite_dataset
from bench.measurements import InvalidRun, Measurement, PartResult, Table, UpperLimit, ratio
from bench.raw_http import HOST, action_request, expected_body
from bench.rounds import RunLength, rotated, show_progress
from bench.tables import ratio_table
from cloudconsole import AsyncConsole, Console, SavedCookie, Session
from cloudconsole.client import transport

MIN_RATIO: Final = 0.85
CONCURRENT: Final = 200
START_LIMIT: Final = 250
STARTS: Final = {
    "empty Python program": ("-c", "pass"),
    "HTTP library import": ("-c", "import httpx2"),
    "client import": ("-c", "from cloudconsole import Console"),
    "cloudconsole --help": ("-m", "cloudconsole", "--help"),
}

Run = Callable[[float], int]
"""Sends requests for a number of seconds; returns how many."""


def run(length: RunLength) -> PartResult:
    dataset = sqlite_dataset(DatasetSpec())
    with ExitStack() as stack:
        server = stack.enter_context(servers.run_console(dataset.directory))
        base = f"http://{HOST}:{server.port}"
        demo = dataset.demo_cookies()
        body = expected_body(server.port, action_request(demo, "GetUsageLimits"))
        cookies = {"sessionid": demo.session_id, "csrftoken": demo.csrf_token}
        saved = tuple(SavedCookie(name=name, value=value) for name, value in cookies.items())
        session = Session(base_url=base, username="demo", region="r", cookies=saved)
        loop = stack.enter_context(asyncio.Runner())
        ours = stack.enter_context(Console(base, session=session))
        theirs = stack.enter_context(httpx2.Client(cookies=cookies))
        ours_async = AsyncConsole(base, session=session)
        theirs_async = httpx2.AsyncClient(cookies=cookies, limits=transport.CONNECTIONS)
        expected = ours.usage_limits()
        request: dict[str, Any] = {
            "url": f"{base}/api/",
            "json": {"action": "GetUsageLimits"},
            "headers": {"X-CSRFToken": demo.csrf_token},
        }

        async def our_request() -> bool:
            return await ours_async.usage_limits() == expected

        async def their_request() -> bool:
            return (await theirs_async.post(**request)).content == body

        runs: dict[str, Run] = {
            "Console": lambda seconds: _sequential(lambda: ours.usage_limits() == expected, seconds),
            "httpx2.Client": lambda seconds: _sequential(lambda: theirs.post(**request).content == body, seconds),
            f"AsyncConsole, {CONCURRENT} concurrent": lambda seconds: loop.run(_concurrent(our_request, seconds)),
            f"httpx2.AsyncClient, {CONCURRENT} concurrent": (
                lambda seconds: loop.run(_concurrent(their_request, seconds))
            ),
        }
        measured = _measure(runs, length)
        loop.run(ours_async.aclose())
        loop.run(theirs_async.aclose())
    starts = _starts(length)
    one, other, many, other_many = measured
    return PartResult(
        "client",
        [
            ratio("Console / httpx2.Client", one, other, MIN_RATIO),
            ratio(f"AsyncConsole / httpx2.AsyncClient, {CONCURRENT} concurrent", many, other_many, MIN_RATIO),
        ],
        [*measured, *starts],
        [UpperLimit(f"CPU time of {start.name}", "ms", median(start.rounds), START_LIMIT) for start in starts[2:]],
    )


def tables(part: PartResult) -> list[Table]:
    return [ratio_table(part)]


def _measure(runs: dict[str, Run], length: RunLength) -> list[Measurement]:
    rates: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    for warm_up in runs.values():
        warm_up(0.5)
    for number in range(length.rounds):
        for name in rotated(list(runs), number):
            began, cpu_began = time.perf_counter(), time.process_time()
            requests = runs[name](length.seconds)
            rates[name].append(requests / (time.perf_counter() - began))
            cpu[name].append((time.process_time() - cpu_began) / requests * 1e6)
        show_progress(number, length)
    return [Measurement(name, "requests/s", rates[name], cpu[name]) for name in runs]


def _sequential(is_right: Callable[[], bool], seconds: float) -> int:
    end, requests = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        if not is_right():
            raise InvalidRun("wrong response")
        requests += 1
    return requests


async def _concurrent(is_right: Callable[[], Awaitable[bool]], seconds: float) -> int:
    end, requests = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        if not all(await asyncio.gather(*(is_right() for _ in range(CONCURRENT)))):
            raise InvalidRun("wrong response")
        requests += CONCURRENT
    return requests


def _starts(length: RunLength) -> list[Measurement]:
    """Measure the CPU milliseconds of complete programs."""
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for number in range(max(length.rounds, 3)):
        for name in rotated(list(STARTS), number):
            times[name].append(_cpu_milliseconds(STARTS[name]))
    return [Measurement(name, "ms", rounds) for name, rounds in times.items()]


def _cpu_milliseconds(arguments: tuple[str, ...]) -> float:
    with Path(os.devnull).open("wb") as nowhere:
        output = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        process = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ, file_actions=output)
        _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise InvalidRun(f"{' '.join(arguments)} failed")
    return (usage.ru_utime + usage.ru_stime) * 1000

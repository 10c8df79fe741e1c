"""The Python client against the bare HTTP library making the same requests, and what it takes to begin."""

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
from bench.client import HOST, action_request, right_body
from bench.data import Plan, store
from bench.figures import Ceiling, Measured, PartResult, Refused, ratio
from bench.rounds import Pace, in_turn
from cloudconsole import AsyncConsole, Console, KeptCookie, Session
from cloudconsole.client import transport

GOAL: Final = 0.85
TOGETHER: Final = 200
START_LIMIT: Final = 250
STARTS: Final = {
    "an empty Python program": ("-c", "pass"),
    "import of the HTTP library": ("-c", "import httpx2"),
    "import of the client": ("-c", "from cloudconsole import Console"),
    "cloudconsole --help": ("-m", "cloudconsole", "--help"),
}

Run = Callable[[float], int]
"""Calls for so many seconds; gives how many."""


def run(pace: Pace) -> PartResult:
    plan = store(Plan())
    with ExitStack() as stack:
        server = stack.enter_context(servers.console(plan.folder))
        base = f"http://{HOST}:{server.port}"
        caller = plan.demo()
        body = right_body(server.port, action_request(caller, "GetUsageLimits"))
        cookies = {"sessionid": caller.session, "csrftoken": caller.token}
        kept = tuple(KeptCookie(name=name, value=value) for name, value in cookies.items())
        session = Session(base_url=base, username="demo", region="r", cookies=kept)
        loop = stack.enter_context(asyncio.Runner())
        ours = stack.enter_context(Console(base, session=session))
        theirs = stack.enter_context(httpx2.Client(cookies=cookies))
        ours_async = AsyncConsole(base, session=session)
        theirs_async = httpx2.AsyncClient(cookies=cookies, limits=transport.CONNECTIONS)
        right = ours.usage_limits()
        request: dict[str, Any] = {
            "url": f"{base}/api/",
            "json": {"action": "GetUsageLimits"},
            "headers": {"X-CSRFToken": caller.token},
        }

        async def one_of_ours() -> bool:
            return await ours_async.usage_limits() == right

        async def one_of_theirs() -> bool:
            return (await theirs_async.post(**request)).content == body

        runs: dict[str, Run] = {
            "Console": lambda seconds: _one_by_one(lambda: ours.usage_limits() == right, seconds),
            "httpx2.Client": lambda seconds: _one_by_one(lambda: theirs.post(**request).content == body, seconds),
            f"AsyncConsole, {TOGETHER} at once": lambda seconds: loop.run(_together(one_of_ours, seconds)),
            f"httpx2.AsyncClient, {TOGETHER} at once": lambda seconds: loop.run(_together(one_of_theirs, seconds)),
        }
        measured = _measure(runs, pace)
        loop.run(ours_async.aclose())
        loop.run(theirs_async.aclose())
    starts = _starts(pace)
    one, other, many, other_many = measured
    return PartResult(
        "client",
        [
            ratio("Console / httpx2.Client", one, other, GOAL),
            ratio(f"AsyncConsole / httpx2.AsyncClient, {TOGETHER} at once", many, other_many, GOAL),
        ],
        [*measured, *starts],
        [Ceiling(f"processor time of {start.name}", "ms", median(start.rounds), START_LIMIT) for start in starts[2:]],
        [
            "The caller has a core of its own; the processor time is the caller's. All calls are on one session; the "
            "bare library is given its cookies and token, and its answers are compared but not decoded.",
        ],
    )


def _measure(runs: dict[str, Run], pace: Pace) -> list[Measured]:
    rates: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    for call in runs.values():
        call(0.5)
    for number in range(pace.rounds):
        for name in in_turn(list(runs), number):
            began, cpu_began = time.perf_counter(), time.process_time()
            calls = runs[name](pace.seconds)
            rates[name].append(calls / (time.perf_counter() - began))
            cpu[name].append((time.process_time() - cpu_began) / calls * 1e6)
        sys.stderr.write(f"  round {number + 1} of {pace.rounds}\n")
    return [Measured(name, "calls/s", rates[name], cpu[name]) for name in runs]


def _one_by_one(is_right: Callable[[], bool], seconds: float) -> int:
    end, calls = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        if not is_right():
            raise Refused("a wrong answer")
        calls += 1
    return calls


async def _together(is_right: Callable[[], Awaitable[bool]], seconds: float) -> int:
    end, calls = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        if not all(await asyncio.gather(*(is_right() for _ in range(TOGETHER)))):
            raise Refused("a wrong answer")
        calls += TOGETHER
    return calls


def _starts(pace: Pace) -> list[Measured]:
    """Processor time, in milliseconds, of whole programs."""
    taken: dict[str, list[float]] = {name: [] for name in STARTS}
    for number in range(max(pace.rounds, 3)):
        for name in in_turn(list(STARTS), number):
            taken[name].append(_processor_time(STARTS[name]))
    return [Measured(name, "ms", rounds) for name, rounds in taken.items()]


def _processor_time(arguments: tuple[str, ...]) -> float:
    with Path(os.devnull).open("wb") as nowhere:
        output = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        process = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ, file_actions=output)
        _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise Refused(f"{' '.join(arguments)} failed")
    return (usage.ru_utime + usage.ru_stime) * 1000

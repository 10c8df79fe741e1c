"""The server's processor time for a kilobyte of each input form, against plain JSON of the same size."""

import re
import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from bench import servers
from bench.client import Connection, ask, plain_request
from bench.data import Plan, copy_of, store
from bench.figures import Measured, PartResult, Ratio, Refused, ratio
from bench.inputs import FORM, SIZES, Input, inputs, plain_json
from bench.rounds import Pace, in_turn
from bench.servers import Server
from cloudconsole.operator.sample import SAMPLE_PASSWORDS

LIMIT: Final = 3
"""How many times as much as plain JSON any input may cost."""
TURNS: Final = 20
"""Of an input and the plain JSON, one after the other, in a round of a second."""


def run(pace: Pace) -> PartResult:
    costs: dict[str, list[float]] = {}
    plain_costs: dict[str, list[float]] = {}
    with copy_of(store(Plan())) as plan, servers.console(plan.folder) as console:
        caller = plan.demo()
        compared = list(inputs(caller, _operator_cookie(console.port)))
        plain = {size: plain_json(caller, size) for size in SIZES}
        for number in range(pace.rounds):
            for each in in_turn(compared, number):
                cost, plain_cost = _cost_in_turns(console, each, plain[each.size], pace.seconds / TURNS)
                costs.setdefault(each.name, []).append(cost)
                plain_costs.setdefault(each.name, []).append(plain_cost)
            sys.stderr.write(f"  round {number + 1} of {pace.rounds}\n")
    measured = {name: Measured(name, "µs/KB", figures) for name, figures in costs.items()}
    ratios = [
        ratio(f"{name} / plain JSON", figures, Measured(name, "µs/KB", plain_costs[name]), limit=LIMIT)
        for name, figures in measured.items()
    ]
    ratios.sort(key=lambda each: each.spread.middle, reverse=True)
    worst = Ratio(f"the worst: {ratios[0].name}", ratios[0].rounds, limit=LIMIT)
    sizes = [
        Measured(
            f"plain JSON of {size:,} bytes",
            "µs/KB",
            [figure for each in compared if each.size == size for figure in plain_costs[each.name]],
        )
        for size in SIZES
    ]
    return PartResult("inputs", [worst, *ratios], [*sizes, *measured.values()])


def _cost_in_turns(server: Server, one: Input, other: Input, seconds: float) -> tuple[float, float]:
    """Microseconds of processor time for a kilobyte of each; in short turns, since a shared machine varies."""
    spent, sent = [0.0, 0.0], [0, 0]
    for _ in range(4):
        for index, each in enumerate((one, other)):
            taken, size = _send(server, each, seconds)
            spent[index] += taken
            sent[index] += size
    return spent[0] / sent[0] * 1024e6, spent[1] / sent[1] * 1024e6


def _send(server: Server, sending: Input, seconds: float) -> tuple[float, int]:
    """Send an input again and again; the seconds of processor time that took, and the bytes."""
    sent, number = 0, 0
    connection = Connection(server.port)
    before, end = _cpu_seconds(server), time.monotonic() + seconds
    while time.monotonic() < end or not number:
        request = sending.requests[number % len(sending.requests)]
        try:
            status = connection.send(request).status
        except (OSError, Refused):
            # Closed while this side was still sending: its answer may be lost.
            if not sending.closes:
                raise
            connection.close()
            connection = Connection(server.port)
        else:
            if status not in sending.statuses:
                raise Refused(f"{sending.name}: the answer is {status}")
        sent, number = sent + len(request), number + 1
    connection.close()
    return _cpu_seconds(server) - before, sent


def _cpu_seconds(server: Server) -> float:
    """To the nanosecond, which clock ticks are too coarse for."""
    threads = [each for process in server.processes for each in Path(f"/proc/{process}/task").iterdir()]
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def _operator_cookie(port: int) -> str:
    path = "/admin/sign-in/"
    token = ask(port, plain_request("GET", path, {})).cookie("csrftoken")
    form = {"csrfmiddlewaretoken": token, "username": "operator", "password": SAMPLE_PASSWORDS["operator"]}
    headers = {"Cookie": f"csrftoken={token}", "Content-Type": FORM}
    signed_in = ask(port, plain_request("POST", path, headers, urlencode(form)))
    found = re.search(r"^set-cookie: ([\w-]+=o[0-9a-f]{48});", signed_in.head, re.MULTILINE | re.IGNORECASE)
    if found is None:
        raise Refused(f"the operator cannot sign in: {signed_in.status}")
    return found[1]

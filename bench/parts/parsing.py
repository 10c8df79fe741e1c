"""The CPU time per kilobyte of each input form, against plain JSON of the same size."""

import re
import time
from typing import Final
from urllib.parse import urlencode

from bench import servers
from bench.datasets import DatasetSpec, sqlite_dataset, temporary_copy
from bench.measurements import InvalidRun, Measurement, PartResult, Ratio, Table, ratio
from bench.parsing_inputs import FORM, SIZES, Input, inputs, plain_json
from bench.raw_http import Connection, build_request, fetch
from bench.rounds import RunLength, rotated, show_progress
from bench.servers import Server
from bench.tables import ByName
from cloudconsole.operator.sample import SAMPLE_PASSWORDS

MAX_RATIO: Final = 3
SLICES_PER_SECOND: Final = 20
SLICES_PER_ROUND: Final = 4
SHOWN: Final = 10


def run(length: RunLength) -> PartResult:
    costs: dict[str, list[float]] = {}
    plain_costs: dict[str, list[float]] = {}
    with temporary_copy(sqlite_dataset(DatasetSpec())) as dataset, servers.run_console(dataset.directory) as console:
        cookies = dataset.demo_cookies()
        compared = list(inputs(cookies, _operator_cookie(console.port)))
        plain = {size: plain_json(cookies, size) for size in SIZES}
        for number in range(length.rounds):
            for each in rotated(compared, number):
                seconds = length.seconds / SLICES_PER_SECOND
                cost, plain_cost = _cost_in_slices(console, each, plain[each.size], seconds)
                costs.setdefault(each.name, []).append(cost)
                plain_costs.setdefault(each.name, []).append(plain_cost)
            show_progress(number, length)
    measured = {name: Measurement(name, "µs/KB", values) for name, values in costs.items()}
    ratios = [
        ratio(f"{name} / plain JSON", values, Measurement(name, "µs/KB", plain_costs[name]), at_most=MAX_RATIO)
        for name, values in measured.items()
    ]
    ratios.sort(key=lambda each: each.spread.median, reverse=True)
    worst = Ratio(f"worst: {ratios[0].name}", ratios[0].rounds, at_most=MAX_RATIO)
    sizes = [
        Measurement(
            f"plain JSON of {size:,} bytes",
            "µs/KB",
            [value for each in compared if each.size == size for value in plain_costs[each.name]],
        )
        for size in SIZES
    ]
    return PartResult("parsing", [worst, *ratios], [*sizes, *measured.values()])


def tables(part: PartResult) -> list[Table]:
    """Return a table of the most expensive inputs."""
    found = ByName(part)
    names = [each.name.removesuffix(" / plain JSON") for each in part.ratios[1:]]
    rows = [[name, found.ratio(f"{name} / plain JSON"), found.median(name)] for name in names[:SHOWN]]
    return [Table(["input", "ratio (min–max)", "µs/KB"], rows)]


def _cost_in_slices(server: Server, one: Input, other: Input, seconds: float) -> tuple[float, float]:
    """Return the CPU microseconds per kilobyte of both, measured in alternating slices."""
    spent, sent = [0.0, 0.0], [0, 0]
    for _ in range(SLICES_PER_ROUND):
        for index, each in enumerate((one, other)):
            cpu, size = _send(server, each, seconds)
            spent[index] += cpu
            sent[index] += size
    return spent[0] / sent[0] * 1024e6, spent[1] / sent[1] * 1024e6


def _send(server: Server, sending: Input, seconds: float) -> tuple[float, int]:
    """Send an input repeatedly; return the CPU seconds of the server and the bytes sent."""
    sent, number = 0, 0
    connection = Connection(server.port)
    before, end = server.precise_cpu_seconds(), time.monotonic() + seconds
    while time.monotonic() < end or not number:
        request = sending.requests[number % len(sending.requests)]
        try:
            status = connection.send(request).status
        except (OSError, InvalidRun):
            # The server closed the connection while the request was being sent; the response may be lost.
            if not sending.closes:
                raise
            connection.close()
            connection = Connection(server.port)
        else:
            if status not in sending.statuses:
                raise InvalidRun(f"{sending.name}: the response is {status}")
        sent, number = sent + len(request), number + 1
    connection.close()
    return server.precise_cpu_seconds() - before, sent


def _operator_cookie(port: int) -> str:
    path = "/admin/sign-in/"
    token = fetch(port, build_request("GET", path, {})).cookie("csrftoken")
    form = {"csrfmiddlewaretoken": token, "username": "operator", "password": SAMPLE_PASSWORDS["operator"]}
    headers = {"Cookie": f"csrftoken={token}", "Content-Type": FORM}
    signed_in = fetch(port, build_request("POST", path, headers, urlencode(form)))
    found = re.search(r"^set-cookie: ([\w-]+=o[0-9a-f]{48});", signed_in.head, re.MULTILINE | re.IGNORECASE)
    if found is None:
        raise InvalidRun(f"operator sign-in failed with {signed_in.status}")
    return found[1]

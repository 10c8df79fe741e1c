"""Valid logins while hundreds of addresses guess passwords, or one throttled address keeps sending."""

import socket
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from bench import servers
from bench.background_load import ANONYMOUS_SESSION_ID
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset, temporary_copy, tenant_name
from bench.login_attackers import attack, loopback_address
from bench.measurements import Measurement, PartResult, Ratio, Table
from bench.raw_http import HOST, SessionCookies, login_request
from bench.rounds import RunLength
from bench.servers import Server
from bench.tables import ByName
from cloudconsole.operator.sample import SAMPLE_PASSWORDS

ATTACKERS: Final = 300
THROTTLED_CONNECTIONS: Final = 32
ACCOUNTS: Final = 10
TIMEOUT_SECONDS: Final = 5
"""A slower login counts as failed."""
MIN_RATIO: Final = 0.8
WARM_UP_SECONDS: Final = 15
"""Until every attacking address has failed at least once."""

Login = tuple[bool, float]
"""Whether it succeeded, and its milliseconds."""


def run(length: RunLength) -> PartResult:
    spec = DatasetSpec(tenants=ACCOUNTS)
    with (
        temporary_copy(sqlite_dataset(spec)) as dataset,
        servers.run_console(dataset.directory, core=None) as console,
    ):
        baseline = [_login_all(dataset, console, 100) for _ in range(length.rounds)]
        token = dataset.new_csrf_token()
        with attack(console.port, token, 1, connections=THROTTLED_CONNECTIONS, username="unknown") as one:
            time.sleep(WARM_UP_SECONDS)
            during_one = [_login_all(dataset, console, 100) for _ in range(length.rounds)]
        with attack(console.port, token, ATTACKERS) as many:
            time.sleep(WARM_UP_SECONDS)
            during_many = [_login_all(dataset, console, 100) for _ in range(length.rounds)]
            new_addresses = [_login_all(dataset, console, 101 + number) for number in range(length.rounds)]
    variants = {
        "no attack": baseline,
        f"one throttled address with {THROTTLED_CONNECTIONS} connections": during_one,
        f"{ATTACKERS} attacking addresses": during_many,
        f"{ATTACKERS} attacking addresses, logins from new addresses": new_addresses,
    }
    responses = _responses(one, many)
    return PartResult("login_attack", _ratios(variants), _latencies(variants), tables=[responses])


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    head = ["scenario", f"logins within {TIMEOUT_SECONDS} s", "login, ms (min–max)"]
    scenarios = [name.removeprefix("successful logins, ") for name in found.ratios]
    rows = [[name, found.ratio(f"successful logins, {name}"), found.spread(f"login, {name}")] for name in scenarios]
    return [Table(head, rows), *part.tables]


def _ratios(variants: Mapping[str, list[list[Login]]]) -> list[Ratio]:
    return [
        Ratio(f"successful logins, {name}", [_success_rate(logins) for logins in rounds], MIN_RATIO)
        for name, rounds in variants.items()
    ]


def _success_rate(logins: list[Login]) -> float:
    return sum(is_in and took <= 1000 * TIMEOUT_SECONDS for is_in, took in logins) / len(logins)


def _latencies(variants: Mapping[str, list[list[Login]]]) -> list[Measurement]:
    return [
        Measurement(f"login, {name}", "ms", [took for logins in rounds for _, took in logins])
        for name, rounds in variants.items()
    ]


def _responses(one: Counter[str], many: Counter[str]) -> Table:
    rows = [
        [name, ", ".join(f"{status}: {number:,}" for status, number in sorted(statuses.items()))]
        for name, statuses in (("one throttled address", one), (f"{ATTACKERS} attacking addresses", many))
    ]
    return Table(["attack", "responses by status"], rows)


def _login_all(dataset: SqliteDataset, console: Server, network: int) -> list[Login]:
    return [
        _login(dataset, console.port, tenant_name(number), loopback_address(number, network))
        for number in range(ACCOUNTS)
    ]


def _login(dataset: SqliteDataset, port: int, username: str, address: str) -> Login:
    """Log in once over a new connection; a timeout is a failure."""
    cookies = SessionCookies(ANONYMOUS_SESSION_ID, dataset.new_csrf_token())
    request = login_request(cookies, username, SAMPLE_PASSWORDS["demo"])
    began = time.perf_counter()
    try:
        opened = socket.create_connection((HOST, port), timeout=2 * TIMEOUT_SECONDS, source_address=(address, 0))
        with opened as connection:
            connection.sendall(request)
            is_in = connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    except OSError:
        is_in = False
    return is_in, 1000 * (time.perf_counter() - began)

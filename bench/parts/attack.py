"""Correct logins of known accounts while hundreds of addresses guess passwords, or a throttled one does not wait."""

import socket
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from bench import servers
from bench.client import HOST, Caller, login_request
from bench.data import Plan, Store, copy_of, name_of, store
from bench.figures import Measured, PartResult, Ratio, Table
from bench.login_attackers import address_of, attack
from bench.rounds import Pace
from bench.servers import Server
from cloudconsole.operator.sample import SAMPLE_PASSWORDS

HOSTILE: Final = 300
THROTTLED_CONNECTIONS: Final = 32
KNOWN: Final = 10
WITHIN_SECONDS: Final = 5
GOAL: Final = 0.8
LEAD_SECONDS: Final = 15
"""Until the attack is as it stays: every hostile address has failed."""

Login = tuple[bool, float]
"""Whether it succeeded, and how many milliseconds it took."""


def run(pace: Pace) -> PartResult:
    with copy_of(store(Plan(tenants=KNOWN))) as plan, servers.console(plan.folder, core=None) as console:
        quiet = [_log_in_all(plan, console, 100) for _ in range(pace.rounds)]
        token = plan.fresh_token()
        with attack(console.port, token, 1, connections=THROTTLED_CONNECTIONS, username="nobody") as one:
            time.sleep(LEAD_SECONDS)
            beside_one = [_log_in_all(plan, console, 100) for _ in range(pace.rounds)]
        with attack(console.port, token, HOSTILE) as many:
            time.sleep(LEAD_SECONDS)
            beside_many = [_log_in_all(plan, console, 100) for _ in range(pace.rounds)]
            elsewhere = [_log_in_all(plan, console, 101 + number) for number in range(pace.rounds)]
    variants = {
        "no attack": quiet,
        f"one throttled address with {THROTTLED_CONNECTIONS} connections": beside_one,
        f"{HOSTILE} hostile addresses": beside_many,
        f"{HOSTILE} hostile addresses, logins from new addresses": elsewhere,
    }
    return PartResult("attack", _ratios(variants), _figures(variants), notes=[_NOTE], tables=[_responses(one, many)])


_NOTE: Final = (
    f"{KNOWN} accounts log in one after the other, each from an address of its own where it logged in before. Hostile "
    "clients guess for another user name each time and ignore Retry-After. All of them share the server's two cores. "
    f"A login that takes longer than {WITHIN_SECONDS} s has failed."
)


def _ratios(variants: Mapping[str, list[list[Login]]]) -> list[Ratio]:
    return [
        Ratio(f"logins that succeed, {name}", [_succeeded(logins) for logins in rounds], GOAL)
        for name, rounds in variants.items()
    ]


def _succeeded(logins: list[Login]) -> float:
    return sum(is_in and took <= 1000 * WITHIN_SECONDS for is_in, took in logins) / len(logins)


def _figures(variants: Mapping[str, list[list[Login]]]) -> list[Measured]:
    return [
        Measured(f"a login, {name}", "ms", [took for logins in rounds for _, took in logins])
        for name, rounds in variants.items()
    ]


def _responses(one: Counter[str], many: Counter[str]) -> Table:
    rows = [
        [name, ", ".join(f"{status}: {number:,}" for status, number in sorted(statuses.items()))]
        for name, statuses in (("one throttled address", one), (f"{HOSTILE} hostile addresses", many))
    ]
    return Table(["attack", "responses by status"], rows)


def _log_in_all(plan: Store, console: Server, network: int) -> list[Login]:
    return [_log_in(plan, console.port, name_of(number), address_of(number, network)) for number in range(KNOWN)]


def _log_in(plan: Store, port: int, username: str, address: str) -> Login:
    """One login on a connection of its own; what the server does not answer in time has failed."""
    request = login_request(Caller("a" + "0" * 48, plan.fresh_token()), username, SAMPLE_PASSWORDS["demo"])
    began = time.perf_counter()
    try:
        opened = socket.create_connection((HOST, port), timeout=2 * WITHIN_SECONDS, source_address=(address, 0))
        with opened as connection:
            connection.sendall(request)
            is_in = connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    except OSError:
        is_in = False
    return is_in, 1000 * (time.perf_counter() - began)

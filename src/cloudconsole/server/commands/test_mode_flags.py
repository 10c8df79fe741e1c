"""Test-mode flags of `serve`: not settings, so that no settings file can enable them on a network."""

import argparse
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from cloudconsole.core.clock import SystemClock
from cloudconsole.core.ports import SYSTEM_RANDOM
from cloudconsole.server.config.identity_endpoints import LOCAL
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.ip_addresses import is_loopback
from cloudconsole.server.runtime.worker import ListenError
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource, read_moment
from cloudconsole.server.test_mode.controls import Controls
from cloudconsole.server.test_mode.runtime import ServerRuntime

FLAGS: Final = ("--clock", "--clock-fixed", "--seed", "--test-mode")
"""Flags that are allowed on loopback only."""
UNTIL_STDIN_ENDS: Final = "--until-stdin-ends"
STDIN: Final = 0


def add_test_mode_flags(parser: argparse.ArgumentParser) -> None:
    flags = parser.add_argument_group(
        "Test mode",
        "Loopback only, flags only. Without --data a temporary store is used and deleted on exit.",
    )
    flags.add_argument("--clock", metavar="TIME", help="start the clock at this time, such as 2026-01-01T00:59:30Z")
    flags.add_argument("--clock-fixed", action="store_true", help="stop the clock at --clock or at start-up time")
    flags.add_argument("--seed", metavar="TEXT", help="generate the same ids and tokens at every start")
    flags.add_argument(
        "--test-mode",
        action="store_true",
        help="enable POST /_test/reset, /_test/clock, /_test/fault, /_test/requests and /_test/content",
    )
    flags.add_argument(
        UNTIL_STDIN_ENDS, action="store_true", help="in test mode: exit when standard input (a pipe) closes"
    )


@contextmanager
def apply_test_defaults(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Provide defaults for test mode: a temporary data directory unless `--data` is given."""
    if not _given(arguments) or arguments.data is not None:
        yield {}
        return
    with TemporaryDirectory(prefix="cloudconsole-") as directory:
        yield {"data": Path(directory)}


def read_test_runtime(arguments: argparse.Namespace, settings: Settings) -> ServerRuntime:
    """Return the runtime that the flags select; reject test mode where other machines could reach it."""
    problems = [f"{flag}: {problem}" for flag in _given(arguments) for problem in _problems(flag, settings)]
    start = None
    try:
        start = None if arguments.clock is None else read_moment(arguments.clock, settings.zone)
    except ValueError as problem:
        problems.append(f"--clock: {problem}")
    if arguments.until_stdin_ends:
        problems += [f"{UNTIL_STDIN_ENDS}: {problem}" for problem in _lifeline_problems(arguments)]
    if problems:
        raise SettingError("\n".join(problems))
    clock = ControllableClock(start, fixed=arguments.clock_fixed)
    seeded = None if arguments.seed is None else SeededRandomSource(arguments.seed)
    if arguments.test_mode:
        lifeline = STDIN if arguments.until_stdin_ends else None
        return ServerRuntime(clock, seeded or SYSTEM_RANDOM, partial(Controls, clock, seeded), lifeline)
    has_own_clock = start is not None or arguments.clock_fixed
    return ServerRuntime(clock if has_own_clock else SystemClock(), seeded or SYSTEM_RANDOM)


def reject_public_address(listener: socket.socket) -> None:
    """Reject a bound address other than loopback; the resolver, not the host setting, decides which one is bound."""
    address = listener.getsockname()[0]
    if not is_loopback(address):
        listener.close()
        raise ListenError(f"test mode listens on loopback only, but the host resolved to {address}")


def _given(arguments: argparse.Namespace) -> list[str]:
    """Return the test-mode flags that were given."""
    values = {flag: getattr(arguments, flag.removeprefix("--").replace("-", "_")) for flag in FLAGS}
    return [flag for flag, value in values.items() if value not in (None, False)]


def _problems(flag: str, settings: Settings) -> Iterator[str]:
    if not settings.only_this_machine:
        yield "allowed on loopback only: listen on 127.0.0.1, with loopback hosts and no proxies"
    if flag in ("--seed", "--test-mode") and settings.workers > 1:
        yield "needs one worker: remove the setting workers"
    if flag == "--test-mode" and settings.metrics is not None:
        yield "has no metrics: remove the setting metrics"
    if flag == "--test-mode" and any(endpoint.kind != LOCAL for endpoint in settings.identity):
        yield "needs local accounts: remove identity endpoints that are not local"


def _lifeline_problems(arguments: argparse.Namespace) -> Iterator[str]:
    if not arguments.test_mode:
        yield "needs --test-mode"
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(STDIN).st_mode)
    except OSError:
        is_pipe = False
    if not is_pipe:
        yield "needs standard input to be a pipe"

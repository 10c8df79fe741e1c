"""The flags of `serve` for a console at a desk: flags only, so that no settings file ever carries one to a network."""

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
from cloudconsole.core.entropy import SYSTEM_RANDOM
from cloudconsole.server.config.identity_endpoints import LOCAL
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.net import is_loopback
from cloudconsole.server.runtime.worker import ListenError
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource, read_moment
from cloudconsole.server.test_mode.controls import Controls
from cloudconsole.server.test_mode.runtime import ServerRuntime

FLAGS: Final = ("--clock", "--clock-fixed", "--seed", "--test-mode")
"""Those that are for one's own machine alone."""
UNTIL_STDIN_ENDS: Final = "--until-stdin-ends"
STDIN: Final = 0


def add_test_mode_flags(parser: argparse.ArgumentParser) -> None:
    flags = parser.add_argument_group(
        "For the desk of those who write callers",
        "On this machine only, and no settings. Without --data the store is in a temporary folder, gone afterwards.",
    )
    flags.add_argument("--clock", metavar="TIME", help="let the console's clock begin at a time: 2026-01-01T00:59:30Z")
    flags.add_argument("--clock-fixed", action="store_true", help="let its clock stand, there or at the start")
    flags.add_argument("--seed", metavar="TEXT", help="make the same ids and tokens at every start")
    flags.add_argument(
        "--test-mode",
        action="store_true",
        help="take POST /_test/reset, /_test/clock and /_test/fault",
    )
    flags.add_argument(
        UNTIL_STDIN_ENDS, action="store_true", help="in test mode: end when standard input, a pipe, does"
    )


@contextmanager
def apply_test_defaults(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What takes the place of a setting's default: at a desk a folder for the data that is gone afterwards."""
    if not _given(arguments) or arguments.data is not None:
        yield {}
        return
    with TemporaryDirectory(prefix="cloudconsole-") as folder:
        yield {"data": Path(folder)}


def read_test_runtime(arguments: argparse.Namespace, settings: Settings) -> ServerRuntime:
    """The desk that the flags ask for; refuses one that others could sit down at."""
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
    """Refuse an address that others can reach, whatever name it was bound by: the name service decides on that."""
    address = listener.getsockname()[0]
    if not is_loopback(address):
        listener.close()
        raise ListenError(f"a console for the desk listens on loopback only, and its host is {address} here")


def _given(arguments: argparse.Namespace) -> list[str]:
    """Which of the flags stand there."""
    values = {flag: getattr(arguments, flag.removeprefix("--").replace("-", "_")) for flag in FLAGS}
    return [flag for flag, value in values.items() if value not in (None, False)]


def _problems(flag: str, settings: Settings) -> Iterator[str]:
    if not settings.only_this_machine:
        yield "is for one's own machine: listen on 127.0.0.1, with loopback names only and no proxies"
    if flag in ("--seed", "--test-mode") and settings.workers > 1:
        yield "needs one worker: leave workers out"
    if flag == "--test-mode" and settings.metrics is not None:
        yield "has no metrics: leave metrics out"
    if flag == "--test-mode" and any(endpoint.kind != LOCAL for endpoint in settings.identity):
        yield "needs accounts of the console's own: leave out the identity endpoints that are not local"


def _lifeline_problems(arguments: argparse.Namespace) -> Iterator[str]:
    if not arguments.test_mode:
        yield "needs --test-mode beside it"
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(STDIN).st_mode)
    except OSError:
        is_pipe = False
    if not is_pipe:
        yield "needs a pipe as standard input"

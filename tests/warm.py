"""Commands in processes of their own that begin warm: forked from one that has loaded the command line already.

Hundreds of tests run a command; loading it anew each time took most of their time. What a process is made of (folder,
variables, streams, exit code) is each one's own all the same.
"""

import io
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, Final

from cloudconsole.cli.commands import COMMANDS

LONGEST_SECONDS: Final = 120
_PRELOADED: Final = ("tests.warm", "cloudconsole.cli.main", "cloudconsole.cli.connecting")


def run_warm(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None = None, stdin: str = ""
) -> "CompletedProcess[str]":
    """`cloudconsole` with these arguments, to its end; whatever the locale, it speaks UTF-8 unless told otherwise."""
    with tempfile.TemporaryDirectory() as place:
        streams = {name: Path(place) / name for name in ("stdin", "stdout", "stderr")}
        streams["stdin"].write_text(stdin)
        task = (list(arguments), folder or Path.cwd(), dict(environment), streams)
        process = _forking().Process(target=_run, args=task)
        process.start()
        process.join(LONGEST_SECONDS)
        assert process.exitcode is not None, "the command does not end"
        code, out, err = process.exitcode, streams["stdout"].read_text(), streams["stderr"].read_text()
        process.close()
        return CompletedProcess(list(arguments), code, out, err)


@cache
def _forking() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED, *(command.module for command in COMMANDS)])
    return context


def _run(arguments: list[str], folder: Path, environment: dict[str, str], streams: dict[str, Path]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = _stream(0, streams["stdin"].open("rb"), encoding)
    sys.stdout = _stream(1, streams["stdout"].open("wb"), encoding)
    sys.stderr = _stream(2, streams["stderr"].open("wb"), encoding)
    from cloudconsole.cli.main import main

    try:
        code: object = main(arguments)
    except SystemExit as ending:
        code = ending.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def _stream(number: int, file: IO[bytes], encoding: str) -> io.TextIOWrapper:
    os.dup2(file.fileno(), number)
    return io.TextIOWrapper(file, encoding=encoding, errors="backslashreplace", write_through=number > 0)

"""Run commands in warm processes: forked from one that has already imported the command line.

Hundreds of tests run a command or a server, and importing it took most of their time. Each process still has its own
working directory, environment, streams, umask, session and exit code.
"""

import fcntl
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Self

from cloudconsole.cli.commands import COMMANDS

MAX_WAIT_SECONDS: Final = 600
"""Deadline of every wait of the tests: beside many other processes, a start takes more than a minute."""
_PRELOADED: Final = (
    *("tests.fork_server", "cloudconsole.cli.entry", "cloudconsole.cli.main", "cloudconsole.cli.connection"),
    # Imported by a client for its first request, and by a server at startup.
    *("encodings.idna", "httpcore2", "truststore", "tests.fork_server_preload"),
)


def polls() -> Iterator[None]:
    """Yield at once and then after short pauses, until the deadline: for what no event reports."""
    give_up_at = time.monotonic() + MAX_WAIT_SECONDS
    while time.monotonic() < give_up_at:
        yield
        time.sleep(0.02)


def run_forked(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    stdin: str = "",
    stdout: int | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run `cloudconsole` with these arguments and wait for it; `stdout` is an optional file descriptor."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        output = out.fileno() if stdout is None else stdout
        process = ForkedProcess(
            arguments, environment, folder, stdin=given.fileno(), stdout=output, stderr=err.fileno()
        )
        try:
            code = process.wait(MAX_WAIT_SECONDS)
        finally:
            process.kill()
        return subprocess.CompletedProcess(list(arguments), code, _read_all(out), _read_all(err))


def _read_all(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class ForkedProcess:
    """`cloudconsole` with these arguments, with an interface like `subprocess.Popen`.

    A stream is a descriptor, `subprocess.PIPE` or `subprocess.DEVNULL`.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path | None = None,
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
        own_session: bool = False,
        own_terminal: bool = False,
    ) -> None:
        """`own_terminal` makes the standard input its controlling terminal, so that a typed Ctrl-C sends a signal."""
        streams = [_Stream(number, given) for number, given in enumerate((stdin, stdout, stderr))]
        self.stdin, self.stdout, self.stderr = (stream.our_end for stream in streams)
        session = _Session(own=own_session or own_terminal, terminal=own_terminal, umask=_umask())
        task = (list(arguments), dict(environment), folder or Path.cwd(), streams, session)
        # A daemon ends with the tests, even if a test leaves it running.
        self._process = fork_context().Process(target=_run, args=task, daemon=True)
        self._process.start()
        for stream in streams:
            stream.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return code

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Close standard input, read the other streams to their end, and wait for the process."""
        with self, ThreadPoolExecutor(2) as threads:
            if self.stdin is not None:
                self.stdin.close()
            outputs = [threads.submit(stream.read) if stream else None for stream in (self.stdout, self.stderr)]
            out, err = (each.result(timeout) if each else "" for each in outputs)
            self.wait(timeout)
        return out, err

    def send_signal(self, sig: signal.Signals) -> None:
        # It may end, and be reaped by its parent, at any moment.
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


class _Stream:
    """A standard stream of a process to be started: the child's end is passed to it, ours stays here."""

    def __init__(self, number: int, given: int) -> None:
        self.our_end: IO[str] | None = None
        self._is_owned = given in (subprocess.PIPE, subprocess.DEVNULL)
        if given == subprocess.DEVNULL:
            self._child_end = os.open(os.devnull, os.O_RDWR)
        elif given != subprocess.PIPE:
            self._child_end = given
        elif number == 0:
            self._child_end, writing = os.pipe()
            self.our_end = os.fdopen(writing, "w")
        else:
            reading, self._child_end = os.pipe()
            self.our_end = os.fdopen(reading)

    def __reduce__(self) -> tuple[Any, ...]:
        return _receive, (DupFd(self._child_end),)

    def close(self) -> None:
        if self._is_owned:
            os.close(self._child_end)


def _receive(descriptor: Any) -> int:
    number: int = descriptor.detach()
    return number


class _Session(NamedTuple):
    own: bool
    terminal: bool
    umask: int


def _umask() -> int:
    """Return the umask of this process, which can only be read by changing it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


@cache
def fork_context() -> ForkServerContext:
    """Return the multiprocessing context for warm processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED, *(command.module for command in COMMANDS)])
    return context


def _run(
    arguments: list[str], environment: dict[str, str], folder: Path, streams: list[int], session: _Session
) -> None:
    os.umask(session.umask)
    if session.own:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if session.terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout, sys.stderr = (_open_stream(number, environment) for number in range(3))
    sys.argv = ["cloudconsole", *arguments]
    from cloudconsole.cli.entry import main

    sys.exit(main())


def _open_stream(number: int, environment: Mapping[str, str]) -> io.TextIOWrapper:
    """Open a standard stream as the interpreter does in the C locale."""
    encoding = environment.get("PYTHONIOENCODING", "")
    is_unbuffered = number > 0 and bool(environment.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        open(number, "wb" if number else "rb", 0 if is_unbuffered else -1, closefd=False),
        encoding or "utf-8",
        "backslashreplace" if number == 2 else "strict" if encoding else "surrogateescape",
        line_buffering=number == 2 or os.isatty(number),
        write_through=is_unbuffered,
    )

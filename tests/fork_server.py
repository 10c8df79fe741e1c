"""Commands in processes of their own that begin warm: forked from one that has loaded the command line already.

Hundreds of tests run a command or a server; loading it anew each time took most of their time. What a process is made
of (folder, variables, streams, umask, session, exit code) is each one's own all the same.
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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Self

from cloudconsole.cli.commands import COMMANDS

MAX_WAIT_SECONDS: Final = 120
_PRELOADED: Final = (
    *("tests.fork_server", "cloudconsole.cli.entry", "cloudconsole.cli.main", "cloudconsole.cli.connection"),
    # What a client loads for its first call, and a server as it begins.
    *("encodings.idna", "httpcore2", "truststore", "uvicorn.lifespan.off", "tests.fork_server_preload"),
)


def run_warm(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    stdin: str = "",
    stdout: int | None = None,
) -> "subprocess.CompletedProcess[str]":
    """`cloudconsole` with these arguments, to its end; `stdout` is a descriptor, where it goes to one of one's own."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        output = out.fileno() if stdout is None else stdout
        process = WarmProcess(arguments, environment, folder, stdin=given.fileno(), stdout=output, stderr=err.fileno())
        try:
            code = process.wait(MAX_WAIT_SECONDS)
        finally:
            process.kill()
        return subprocess.CompletedProcess(list(arguments), code, _all_of(out), _all_of(err))


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class WarmProcess:
    """`cloudconsole` with these arguments, steered and waited for as a `subprocess.Popen` is.

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
        """`own_terminal`: the one that is its standard input, so that Ctrl-C, typed there, is a signal."""
        theirs = [_Stream(number, given) for number, given in enumerate((stdin, stdout, stderr))]
        self.stdin, self.stdout, self.stderr = (stream.ours for stream in theirs)
        session = _Session(own=own_session or own_terminal, terminal=own_terminal, umask=_umask())
        task = (list(arguments), dict(environment), folder or Path.cwd(), theirs, session)
        # Daemons: should a test leave one behind, it ends with the tests.
        self._process = forking().Process(target=_run, args=task, daemon=True)
        self._process.start()
        for stream in theirs:
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
        """Its standard input ends; gives all that it still says on the other streams, and waits for its end."""
        with self, ThreadPoolExecutor(2) as threads:
            if self.stdin is not None:
                self.stdin.close()
            said = [threads.submit(stream.read) if stream else None for stream in (self.stdout, self.stderr)]
            out, err = (each.result(timeout) if each else "" for each in said)
            self.wait(timeout)
        return out, err

    def send_signal(self, sig: signal.Signals) -> None:
        if self.poll() is None:
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
    """A standard stream of a process to come: its side of it goes over there, ours stays."""

    def __init__(self, number: int, given: int) -> None:
        self.ours: IO[str] | None = None
        self._is_theirs_alone = given in (subprocess.PIPE, subprocess.DEVNULL)
        if given == subprocess.DEVNULL:
            self._theirs = os.open(os.devnull, os.O_RDWR)
        elif given != subprocess.PIPE:
            self._theirs = given
        elif number == 0:
            self._theirs, writing = os.pipe()
            self.ours = os.fdopen(writing, "w")
        else:
            reading, self._theirs = os.pipe()
            self.ours = os.fdopen(reading)

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self._theirs),)

    def close(self) -> None:
        if self._is_theirs_alone:
            os.close(self._theirs)


def _received(descriptor: Any) -> int:
    number: int = descriptor.detach()
    return number


class _Session(NamedTuple):
    own: bool
    terminal: bool
    umask: int


def _umask() -> int:
    """This process's, which can only be asked for by changing it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


@cache
def forking() -> ForkServerContext:
    """For processes that begin warm, whatever they do."""
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
    sys.stdin, sys.stdout, sys.stderr = (_opened(number, environment) for number in range(3))
    sys.argv = ["cloudconsole", *arguments]
    from cloudconsole.cli.entry import main

    sys.exit(main())


def _opened(number: int, environment: Mapping[str, str]) -> io.TextIOWrapper:
    """A standard stream as the interpreter opens it, where the locale is that of no language."""
    encoding = environment.get("PYTHONIOENCODING", "")
    is_unbuffered = number > 0 and bool(environment.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        open(number, "wb" if number else "rb", 0 if is_unbuffered else -1, closefd=False),
        encoding or "utf-8",
        "backslashreplace" if number == 2 else "strict" if encoding else "surrogateescape",
        line_buffering=number == 2 or os.isatty(number),
        write_through=is_unbuffered,
    )

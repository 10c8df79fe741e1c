"""`cloudconsole admin` at a real terminal: passwords typed unseen, tables to look at."""

import os
import pty
import re
import select
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cloudconsole.store.engine import open_engine
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import accounts
from tests.operator.clouds import by_name

PATIENCE = 60
COLOUR = re.compile(r"\x1b\[(3[0-9]|4[0-9]|9[0-9])[;0-9]*m")


class Terminal:
    """A command on a pseudo-terminal of its own."""

    def __init__(self, process: int, descriptor: int) -> None:
        self.process = process
        self.seen = ""
        self._descriptor = descriptor

    def expect(self, words: str) -> None:
        end = time.monotonic() + PATIENCE
        while words not in self.seen:
            assert time.monotonic() < end, self.seen
            assert self._read(), self.seen

    def type(self, text: str) -> None:
        # Only once nothing is echoed any more: else a password would be seen that no one would ever see.
        end = time.monotonic() + PATIENCE
        while termios.tcgetattr(self._descriptor)[3] & termios.ECHO:
            assert time.monotonic() < end
            time.sleep(0.01)
        os.write(self._descriptor, text.encode())

    def finish(self) -> int:
        end = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < end, self.seen
        _, status = os.waitpid(self.process, 0)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        """Whether the command is still there; takes what it has written."""
        if select.select([self._descriptor], [], [], 0.2)[0]:
            try:
                content = os.read(self._descriptor, 65_536)
            except OSError:
                return False
            self.seen += content.decode()
            return bool(content)
        return True


@contextmanager
def terminal(*arguments: str, **environment: str) -> Iterator[Terminal]:
    process, descriptor = pty.fork()
    if process == 0:
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": "100", **environment})
        os.execv(sys.executable, [sys.executable, "-m", "cloudconsole", "admin", *arguments])
    try:
        yield Terminal(process, descriptor)
    finally:
        os.close(descriptor)


def stored_hash(data: Path) -> str:
    engine = open_engine(data, "cloud")
    try:
        return str(by_name(engine, accounts, "username")["demo"]["password_hash"])
    finally:
        engine.dispose()


def test_a_password_is_typed_twice_and_never_seen(data: Path) -> None:
    with terminal("account", "password", "demo", "--data", str(data)) as screen:
        screen.expect("New password: ")
        screen.type("quite secret\n")
        screen.expect("The same again: ")
        screen.type("quite secret\n")
        assert screen.finish() == 0
    assert "account demo: password changed" in screen.seen
    assert "quite secret" not in screen.seen
    assert password_matches(stored_hash(data), "quite secret")


def test_two_passwords_that_differ_change_nothing(data: Path) -> None:
    before = stored_hash(data)
    with terminal("account", "password", "demo", "--data", str(data)) as screen:
        screen.expect("New password: ")
        screen.type("quite secret\n")
        screen.expect("The same again: ")
        screen.type("quite different\n")
        assert screen.finish() == 1
    assert "cloudconsole: the two passwords differ" in screen.seen
    assert stored_hash(data) == before


def test_nobody_types_a_password_for_an_account_that_is_not_there(data: Path) -> None:
    with terminal("account", "password", "nobody", "--data", str(data)) as screen:
        assert screen.finish() == 1
    assert "assword" not in screen.seen


def test_a_list_is_a_table_and_is_cut_at_a_hundred(data: Path) -> None:
    with terminal("resource", "list", "--kind", "floating_ip", "--data", str(data)) as screen:
        assert screen.finish() == 0
    heading, first, *_ = re.sub(r"\x1b\[[0-9;]*m", "", screen.seen).splitlines()
    assert heading.split() == ["tenant", "id", "kind", "name", "node", "started"]
    assert first.index("floating_ip") == heading.index("kind")
    assert "\t" not in screen.seen


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_done_without(data: Path, environment: dict[str, str]) -> None:
    with terminal("tenant", "list", "--data", str(data), **environment) as screen:
        assert screen.finish() == 0
    assert "demo" in screen.seen
    assert not COLOUR.search(screen.seen)

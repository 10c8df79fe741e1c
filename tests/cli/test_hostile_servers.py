"""Consoles that mean harm: whatever they say, they neither control the terminal nor keep anyone waiting."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import pytest

from cloudconsole.spec.records import UsageLimits
from tests.cli.users import PASSWORD, Person
from tests.client.scripted_server import Canned, ScriptedServer, Seen, envelope
from tests.server.commands.test_escaped_output import NASTY, SHOWN

HOSTILE = NASTY + "x" * 1000
PRICES = dict.fromkeys(("hour", "day", "month", "year"), "1")
DATA = {
    "GetUsageLimits": {field.encode_name: 1 for field in msgspec.structs.fields(UsageLimits)},
    "GetFlavors": {"flavors": [], "configs": {"vcpus": [1], "ram": [1]}, "limits": {"1": [1]}},
    "GetNews": [],
    "GetConsumptionsEstimated": [{"res_type": "instance", **PRICES}],
}


@pytest.fixture
def hostile() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        about = {
            **dict.fromkeys(("currency", "timeZone"), HOSTILE),
            "actions": [HOSTILE],
            "regions": [HOSTILE, HOSTILE],
            "units": dict.fromkeys(("ram", "disk", "volume", "personality"), HOSTILE),
        }
        server.opening = [envelope(about, headers=server.opening[0].headers)]
        server.rule = by_action
        yield server


def by_action(seen: Seen) -> Canned:
    return envelope(DATA[msgspec.json.decode(seen.body)["action"]])


def given(server: ScriptedServer) -> list[str]:
    return ["--url", server.base, "--username", "demo", "--region", "r", "--timeout", "5"]


@pytest.mark.parametrize("command", [("usage",), ("flavors",), ("news",), ("costs",), ("costs", "--plot")])
def test_what_a_console_says_of_itself_does_not_control_the_terminal(
    person: Person, hostile: ScriptedServer, command: tuple[str, ...]
) -> None:
    terminal = person.sits_at(*command, *given(hostile), CLOUDCONSOLE_PASSWORD=PASSWORD, COLUMNS="500", NO_COLOR="1")
    assert terminal.end() == 0
    for control in ("\x1b[2J", "\u202e", "\x07", "\x9b", "x" * 41):
        assert control not in terminal.shown
    assert SHOWN[:39] in terminal.shown


def test_so_it_is_in_a_pipe(person: Person, hostile: ScriptedServer) -> None:
    done = person.run("news", *given(hostile), CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done.out == f"date ({SHOWN[:39]}…)\turl\ttitle\n"


@pytest.fixture
def dripping() -> Iterator[str]:
    """The address of a console that sends its headers letter by letter, and never an end of them."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, suppress(OSError):
                        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                        for _ in range(150):
                            connection.sendall(b"x")
                            time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("command", ["usage", "login"])
def test_a_console_that_sends_letter_by_letter_is_not_waited_for(person: Person, dripping: str, command: str) -> None:
    given = ("--url", dripping, "--username", "demo", "--timeout", "1")
    done = person.run(command, *given, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done == (3, "", f"cloudconsole: cannot reach {dripping}: no response in time\n")


@pytest.mark.parametrize("about", ["regions", "message"])
def test_an_error_is_one_line_whatever_is_in_it(person: Person, hostile: ScriptedServer, about: str) -> None:
    text = "a\x85b\u2028c\nd" + "x" * 5000
    hostile.rule = lambda _: envelope(None, code=400, message=text, error=text, headers=[("X-Request-Id", "a\x85b")])
    arguments = [each for each in given(hostile) if about == "message" or each not in ("--region", "r")]
    plain, verbose = (person.run("usage", *arguments, *more, CLOUDCONSOLE_PASSWORD=PASSWORD) for more in ([], ["-v"]))
    for done in (plain, verbose):
        lines = done.err.splitlines()
        assert all(line.startswith("cloudconsole: ") and len(line) < 1200 for line in lines)
    assert len(plain.err.splitlines()) == 1
    assert 1 < len(verbose.err.splitlines()) < 8

"""Hostile consoles can neither control the terminal nor stall the CLI."""

from collections.abc import Iterator

import msgspec
import pytest

from cloudconsole.spec.records import UsageLimits
from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import Canned, ReceivedRequest, ScriptedServer, envelope
from tests.conformance.raw_servers import drip, raw_server
from tests.server.commands.test_escaped_output import ESCAPED_TEXT, UNSAFE_TEXT

HOSTILE = UNSAFE_TEXT + "x" * 1000
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


def by_action(request: ReceivedRequest) -> Canned:
    return envelope(DATA[msgspec.json.decode(request.body)["action"]])


def options(server: ScriptedServer) -> list[str]:
    return ["--url", server.base, "--username", "demo", "--region", "r", "--timeout", "120"]


@pytest.mark.parametrize("command", [("usage",), ("flavors",), ("news",), ("costs",), ("costs", "--plot")])
def test_console_metadata_is_escaped_on_a_terminal(
    cli_user: CliUser, hostile: ScriptedServer, command: tuple[str, ...]
) -> None:
    terminal = cli_user.open_terminal(
        *command, *options(hostile), CLOUDCONSOLE_PASSWORD=PASSWORD, COLUMNS="500", NO_COLOR="1"
    )
    assert terminal.end() == 0
    for control in ("\x1b[2J", "\u202e", "\x07", "\x9b", "x" * 41):
        assert control not in terminal.shown
    assert ESCAPED_TEXT[:39] in terminal.shown


def test_console_metadata_is_escaped_in_a_pipe(cli_user: CliUser, hostile: ScriptedServer) -> None:
    done = cli_user.run("news", *options(hostile), CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done.out == f"date ({ESCAPED_TEXT[:39]}…)\turl\ttitle\n"


@pytest.mark.parametrize("command", ["usage", "login"])
def test_response_sent_byte_by_byte_times_out(cli_user: CliUser, command: str) -> None:
    with raw_server(drip(b"HTTP/1.1 200 OK\r\nX: ", b"x")) as dripping:
        options = ("--url", dripping, "--username", "demo", "--timeout", "0.3")
        done = cli_user.run(command, *options, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert done == (3, "", f"cloudconsole: cannot reach {dripping}: no response in time\n")


@pytest.mark.parametrize("about", ["regions", "message"])
def test_error_is_one_line_whatever_it_contains(cli_user: CliUser, hostile: ScriptedServer, about: str) -> None:
    text = "a\x85b\u2028c\nd" + "x" * 5000
    hostile.rule = lambda _: envelope(None, code=400, message=text, error=text, headers=[("X-Request-Id", "a\x85b")])
    arguments = [each for each in options(hostile) if about == "message" or each not in ("--region", "r")]
    plain, verbose = (cli_user.run("usage", *arguments, *more, CLOUDCONSOLE_PASSWORD=PASSWORD) for more in ([], ["-v"]))
    for done in (plain, verbose):
        lines = done.err.splitlines()
        assert all(line.startswith("cloudconsole: ") and len(line) < 1200 for line in lines)
    assert len(plain.err.splitlines()) == 1
    assert 1 < len(verbose.err.splitlines()) < 8

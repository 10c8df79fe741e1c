"""Output that cannot be written, encoded or trusted: errors are one line, and no console controls the terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cloudconsole.spec.records import UsageLimits
from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import Canned, ReceivedRequest, ScriptedServer, envelope
from tests.conformance.raw_servers import drip, raw_server
from tests.fork_server import run_forked
from tests.harness import clean_environment
from tests.server.commands.test_escaped_output import ESCAPED_TEXT, UNSAFE_TEXT

COMMANDS = [
    ("costs", "--output", "csv"),
    ("costs", "--plot"),
    ("call", "GetNews"),
    ("whoami",),
    ("doctor", "--port", "0", "--quick"),
    ("serve", "--print-config"),
    ("admin", "tenant", "list", "--json"),
    ("admin", "dump"),
    ("--version",),
]


class TestStreams:
    @pytest.fixture
    def user(self, demo_user: CliUser, data: Path) -> CliUser:
        """A tenant who is also the operator of a store."""
        demo_user.variables = {"CLOUDCONSOLE_DATA": str(data), "PYTHONUNBUFFERED": ""}
        return demo_user

    @pytest.mark.parametrize(
        ("arguments", "unbuffered"), [(("admin", "dump"), "1"), *((each, "") for each in COMMANDS)]
    )
    def test_full_disk_is_a_one_line_error(self, user: CliUser, arguments: tuple[str, ...], unbuffered: str) -> None:
        with Path("/dev/full").open("wb") as full:
            done = run(user, *arguments, stdout=full.fileno(), PYTHONUNBUFFERED=unbuffered)
        assert (done.returncode, done.stderr) == (1, "cloudconsole: output: No space left on device\n")

    @pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
    def test_closed_pipe_is_silent(self, user: CliUser, arguments: tuple[str, ...]) -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = run(user, *arguments, stdout=write_end)
        os.close(write_end)
        assert (done.returncode, done.stderr) == (1, "")

    @pytest.mark.parametrize(
        ("closed", "arguments", "code", "message"),
        [
            (0, ("urls",), 0, ""),
            (0, ("usage", "--username", "nobody"), 2, "cloudconsole: no password"),
            (1, ("urls",), 1, "cloudconsole: output: "),
            (1, ("costs", "--plot"), 1, "cloudconsole: output: "),
            (1, ("--help",), 0, "usage: cloudconsole"),
            (2, ("domain", "1"), 1, ""),
        ],
    )
    def test_closed_stream_causes_no_crash(
        self, demo_user: CliUser, closed: int, arguments: tuple[str, ...], code: int, message: str
    ) -> None:
        command = ("sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, "-m", "cloudconsole", *arguments)
        environment = clean_environment(**demo_user.environment())
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode, done.stderr[: len(message) or None]) == (code, message)

    def test_doctor_output_is_escaped_for_ascii(self, user: CliUser, data: Path) -> None:
        data.chmod(0o755)
        done = run(user, "doctor", "--port", "0", "--quick", PYTHONIOENCODING="ascii")
        assert done.stderr == ""
        assert f"         \\u2192 restrict its permissions:\n           chmod 700 {data}" in done.stdout

    def test_names_are_escaped_for_ascii_and_json_stays_json(self, user: CliUser) -> None:
        assert run(user, "admin", "tenant", "add", "中é🙂").returncode == 0
        commands = (("list", "--prefix", "中"), ("list", "--prefix", "中", "--json"), ("show", "中é🙂", "--json"))
        listed, listed_json, shown_json = (
            run(user, "admin", "tenant", *command, PYTHONIOENCODING="ascii") for command in commands
        )
        assert (listed.returncode, listed.stderr) == (0, "")
        assert r"\u4e2d\xe9\U0001f642" in listed.stdout
        assert json.loads(listed_json.stdout) == [{"name": "中é🙂"}]
        assert json.loads(shown_json.stdout) == {"name": "中é🙂"}


def run(user: CliUser, *arguments: str, stdout: int | None = None, **more: str) -> "subprocess.CompletedProcess[str]":
    return run_forked(arguments, clean_environment(**user.environment(**more)), user.home, stdout=stdout)


OPTIONS = ("--region", "r", "--timeout", "120")
HOSTILE = UNSAFE_TEXT + "x" * 1000
PRICES = dict.fromkeys(("hour", "day", "month", "year"), "1")
DATA = {
    "GetUsageLimits": {field.encode_name: 1 for field in msgspec.structs.fields(UsageLimits)},
    "GetFlavors": {"flavors": [], "configs": {"vcpus": [1], "ram": [1]}, "limits": {"1": [1]}},
    "GetNews": [{"date": "2026-01-31 08:00:00", "url": "http://x", "title": f"[red]{UNSAFE_TEXT}[/red]"}],
    "GetConsumptionsEstimated": [{"res_type": "instance", **PRICES}],
}


class TestHostileConsoles:
    @pytest.fixture
    def hostile(self) -> Iterator[ScriptedServer]:
        """A console with control characters in its metadata and its news."""
        with ScriptedServer() as server:
            about = {
                **dict.fromkeys(("currency", "timeZone"), HOSTILE),
                "actions": [HOSTILE],
                "regions": [HOSTILE, HOSTILE],
                "units": dict.fromkeys(("ram", "disk", "volume", "personality"), HOSTILE),
            }
            server.opening = [envelope(about, headers=server.opening[0].headers)]
            server.rule = self.by_action
            yield server

    @staticmethod
    def by_action(request: ReceivedRequest) -> Canned:
        return envelope(DATA[msgspec.json.decode(request.body)["action"]])

    @pytest.fixture
    def guest(self, cli_user: CliUser, hostile: ScriptedServer) -> CliUser:
        account = {"URL": hostile.base, "USERNAME": "demo", "PASSWORD": PASSWORD}
        cli_user.variables = {f"CLOUDCONSOLE_{name}": value for name, value in account.items()}
        return cli_user

    @pytest.mark.parametrize("command", [("usage",), ("flavors",), ("news",), ("costs",), ("costs", "--plot")])
    def test_console_metadata_is_escaped_on_a_terminal(self, guest: CliUser, command: tuple[str, ...]) -> None:
        terminal = guest.open_terminal(*command, *OPTIONS, COLUMNS="500", NO_COLOR="1")
        assert terminal.end() == 0
        for control in ("\x1b[2J", "\u202e", "\x07", "\x9b", "x" * 41):
            assert control not in terminal.shown
        assert ESCAPED_TEXT[:39] in terminal.shown

    def test_console_metadata_is_escaped_in_a_pipe(self, guest: CliUser) -> None:
        heading, _ = guest.run("news", *OPTIONS).out.splitlines()
        assert heading == f"date ({ESCAPED_TEXT[:39]}…)\tURL\ttitle"

    @pytest.mark.parametrize("output_format", ["table", "csv", "json"])
    def test_news_do_not_control_the_terminal(self, guest: CliUser, output_format: str) -> None:
        terminal = guest.open_terminal("news", *OPTIONS, "--output", output_format, COLUMNS="500")
        assert terminal.end() == 0
        assert "\x1b[2J" not in terminal.shown
        assert "\u202e" not in terminal.shown
        shown = ESCAPED_TEXT if output_format != "json" else "a\\u001b[2J\\u202egnp"
        assert f"[red]{shown}" in terminal.shown

    def test_csv_in_a_pipe_is_not_escaped(self, guest: CliUser) -> None:
        assert f'"[red]{UNSAFE_TEXT}[/red]"' in guest.run("news", *OPTIONS, "--output", "csv").out

    @pytest.mark.parametrize("command", ["usage", "login"])
    def test_response_sent_byte_by_byte_times_out(self, cli_user: CliUser, command: str) -> None:
        with raw_server(drip(b"HTTP/1.1 200 OK\r\nX: ", b"x")) as dripping:
            options = ("--url", dripping, "--username", "demo", "--timeout", "0.3")
            done = cli_user.run(command, *options, CLOUDCONSOLE_PASSWORD=PASSWORD)
        assert done == (3, "", f"cloudconsole: cannot reach {dripping}: no response in time\n")

    @pytest.mark.parametrize("options", [OPTIONS, OPTIONS[2:]], ids=["message", "regions"])
    def test_error_is_one_line_whatever_it_contains(
        self, guest: CliUser, hostile: ScriptedServer, options: tuple[str, ...]
    ) -> None:
        text = "a\x85b\u2028c\nd" + "x" * 5000
        error = envelope(None, code=400, message=text, error=text, headers=[("X-Request-Id", "a\x85b")])
        hostile.rule = lambda _: error
        plain, verbose = (guest.run("usage", *options, *more).err.splitlines() for more in ([], ["-v"]))
        assert all(line.startswith("cloudconsole: ") and len(line) < 1200 for line in (*plain, *verbose))
        assert len(plain) == 1
        assert 1 < len(verbose) < 8

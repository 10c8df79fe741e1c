"""Tenant commands on a real terminal, as a user sees them."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from cloudconsole.spec.records import UsageLimits
from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import LOST, ScriptedServer, envelope
from tests.e2e.processes import eventually
from tests.harness import RunningServer
from tests.terminal import Terminal

GREEN, YELLOW, RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"
COLOUR = re.compile(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|9[0-9])[;0-9]*m")


def final_screen(terminal: Terminal, code: int = 0) -> list[str]:
    """The screen after the command has exited, without trailing empty lines."""
    assert terminal.end() == code, terminal.shown
    screen = terminal.screen
    while screen and not screen[-1]:
        screen.pop()
    return screen


USAGE = dict.fromkeys((field.encode_name for field in msgspec.structs.fields(UsageLimits)), 10)
USAGE |= {"maxTotalInstances": -1, "totalInstancesUsed": 4, "maxTotalCores": 13, "totalCoresUsed": 13}
USAGE |= {"maxTotalRAMSize": 50_000, "totalRAMUsed": 41_472, "maxTotalVolumes": 2, "totalVolumesUsed": 3}
USAGE |= {"totalSnapshotsUsed": 1}


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    """A console whose resources exceed quotas."""
    with ScriptedServer() as running:
        running.rule = lambda _: envelope(USAGE)
        yield running


@pytest.fixture
def guest(cli_user: CliUser, scripted: ScriptedServer) -> CliUser:
    """A user of the scripted console."""
    account = {"URL": scripted.base, "USERNAME": "guest", "PASSWORD": PASSWORD, "REGION": "r"}
    cli_user.variables = {f"CLOUDCONSOLE_{name}": value for name, value in account.items()}
    return cli_user


class TestTables:
    def test_usage_is_a_table_with_bars(self, demo_user: CliUser) -> None:
        heading, first, second, third, *_ = final_screen(demo_user.open_terminal("usage"))
        assert heading.split() == ["quota", "used", "limit", "free"]
        assert re.fullmatch(r"instances {25}█{6}░{24} {6}4 {6}20 {5}16", first)
        assert second.split()[-3:] == ["13", "64", "51"]
        assert third.startswith("RAM (MB) ")

    def test_unlimited_full_and_exceeded_quotas_are_shown_in_colour(self, guest: CliUser) -> None:
        terminal = guest.open_terminal("usage")
        lines = {line.split("  ")[0]: line.split() for line in final_screen(terminal)}
        assert lines["instances"][-3:] == ["4", "unlimited", "unlimited"]
        assert lines["volumes"][-4:] == ["█" * 30, "3", "2", "0"]
        coloured = {line.strip().split("  ")[0]: line for line in terminal.shown.splitlines()}
        for name, colour in {"cores": RED, "RAM": YELLOW, "volumes": RED, "snapshots": GREEN}.items():
            assert colour in coloured[name]
        assert not COLOUR.search(coloured["instances"])

    @pytest.mark.parametrize(
        ("command", "environment"), [(("usage",), {"NO_COLOR": "1"}), (("costs", "--plot"), {"TERM": "dumb"})]
    )
    def test_colours_can_be_disabled(
        self, demo_user: CliUser, command: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        terminal = demo_user.open_terminal(*command, **environment)
        assert terminal.end() == 0
        assert "█" in terminal.shown
        assert not COLOUR.search(terminal.shown)

    @pytest.mark.parametrize(("command", "columns"), [("usage", 24), ("costs", 40), ("usage", 15), ("usage", 9)])
    def test_a_narrow_terminal_loses_no_number(self, demo_user: CliUser, command: str, columns: int) -> None:
        numbers = re.findall(r"[\d.]+", demo_user.run(command).out)
        terminal = demo_user.open_terminal(command, COLUMNS=str(columns), LINES="200")
        screen = final_screen(terminal)
        # Without a line that the terminal wraps.
        assert max(len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)) for line in terminal.shown.splitlines()) <= columns
        assert sorted(re.findall(r"[\d.]+", " ".join(screen))) == sorted(numbers)

    def test_cost_plot_shows_currency_and_estimation_rule(self, demo_user: CliUser) -> None:
        screen = final_screen(demo_user.open_terminal("costs", "--plot"))
        assert screen[0].split() == ["kind", "hour", "(CNY)", "%"]
        assert screen[1].split()[1:] == ["█" * 30, "1.2714", "80.9"]
        assert screen[5:] == [
            "total, hour: 1.5717825 CNY",
            "total, day: 37.72278 CNY",
            "total, month: 1131.6834 CNY",
            "total, year: 13768.8147 CNY",
            "estimated from the current hour: day = hour × 24, month = day × 30, year = day × 365",
        ]

    def test_flavors_show_the_ram_available_with_the_cores(self, demo_user: CliUser) -> None:
        screen = final_screen(demo_user.open_terminal("flavors", "--vcpus", "4"))
        assert screen[0].split() == ["ID", "name", "cores", "RAM", "(MB)", "system", "disk", "(GB)"]
        assert screen[-1] == "RAM with 4 cores: 4096, 8192, 16384 MB"

    def test_domain_is_shown_as_a_record(self, demo_user: CliUser) -> None:
        screen = final_screen(demo_user.open_terminal("domain", "206813"))
        assert not any("[]" in line for line in screen)
        assert screen[0] == "domain ID                 206813"
        assert "acceleration              enabled" in screen

    def test_unknown_terminal_width_falls_back_to_the_default(self, demo_user: CliUser) -> None:
        terminal = demo_user.open_terminal("usage", COLUMNS="0", NO_COLOR="1")
        assert terminal.end() == 0
        assert re.search(r"instances +█", terminal.shown)

    def test_bars_use_the_characters_that_the_output_can_encode(self, demo_user: CliUser) -> None:
        screen = final_screen(demo_user.open_terminal("costs", "--plot", PYTHONIOENCODING="ascii"))
        assert re.fullmatch(r"instances  #{30} .*", screen[1])
        assert "---" in screen[2]


class TestPrompts:
    @pytest.mark.parametrize("arguments", [(), ("--username", "demo", "--password-file", "-")])
    def test_password_prompt_has_no_echo(
        self, cli_user: CliUser, server: RunningServer, arguments: tuple[str, ...]
    ) -> None:
        terminal = cli_user.open_terminal("login", "--url", server.base, *arguments)
        if not arguments:
            terminal.wait_for(f"Username at {server.base}: ")
            terminal.type("demo\n")
        terminal.wait_for(f"Password for demo at {server.base}: ")
        terminal.type_without_echo(f"{PASSWORD}\n")
        assert final_screen(terminal)[-1] == f"logged in as demo at {server.base}"
        assert PASSWORD not in terminal.shown
        assert cli_user.run("usage").code == 0

    def test_login_asks_for_the_url_too(self, cli_user: CliUser, server: RunningServer) -> None:
        terminal = cli_user.open_terminal("login", "--username", "demo")
        terminal.wait_for("Console URL: ")
        terminal.type(f"{server.base}/\n")
        terminal.wait_for(f"Password for demo at {server.base}: ")
        terminal.type_without_echo(f"{PASSWORD}\n")
        assert final_screen(terminal)[-1] == f"logged in as demo at {server.base}"

    @pytest.mark.parametrize(("typed", "message"), [("", "no console URL"), ("console", "must be a URL such as")])
    def test_invalid_url_is_rejected(self, cli_user: CliUser, typed: str, message: str) -> None:
        terminal = cli_user.open_terminal("login")
        terminal.wait_for("Console URL: ")
        terminal.type(f"{typed}\n")
        assert final_screen(terminal, 2)[-1].startswith(f"cloudconsole: {message}")

    def test_other_commands_do_not_ask_for_the_url(self, cli_user: CliUser) -> None:
        terminal = cli_user.open_terminal("usage")
        assert final_screen(terminal, 2)[-1].startswith("cloudconsole: no console URL")

    def test_ended_session_prompts_for_the_password(self, logged_in_user: CliUser, server: RunningServer) -> None:
        saved = logged_in_user.sessions_file.read_text()
        assert logged_in_user.run("logout").code == 0
        logged_in_user.sessions_file.write_text(saved)
        terminal = logged_in_user.open_terminal("urls")
        terminal.wait_for("Password for demo at ")
        terminal.type_without_echo(f"{PASSWORD}\n")
        assert "url-d3m0d1r0" in "\n".join(final_screen(terminal))

    def test_unreachable_console_does_not_prompt_for_a_password(self, cli_user: CliUser) -> None:
        terminal = cli_user.open_terminal(
            "login", "--url", "http://127.0.0.1:1", "--username", "demo", "--timeout", "1"
        )
        assert terminal.end() == 3
        assert "assword" not in terminal.shown

    def test_empty_password_is_rejected(self, cli_user: CliUser, server: RunningServer) -> None:
        terminal = cli_user.open_terminal("login", "--url", server.base, "--username", "demo")
        terminal.wait_for("Password for demo")
        terminal.type_without_echo("\n")
        assert final_screen(terminal, 2)[-1] == "cloudconsole: no password entered"

    @pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 2)])
    @pytest.mark.parametrize("prompt", ["Username", "Password"])
    def test_aborted_prompt_ends_its_line(
        self, cli_user: CliUser, server: RunningServer, prompt: str, key: str, code: int
    ) -> None:
        terminal = cli_user.open_terminal(
            "login", "--url", server.base, *(["--username", "x"] if prompt == "Password" else [])
        )
        terminal.wait_for(prompt)
        (terminal.type_without_echo if prompt == "Password" else terminal.type)(key)
        assert terminal.end() == code
        prompt_line, *rest = terminal.shown.split("\r\n")
        assert "cloudconsole: " not in prompt_line
        assert all(line == "" or line.startswith("cloudconsole: ") for line in rest)
        assert rest

    def test_non_utf_8_username_is_rejected(self, cli_user: CliUser, server: RunningServer) -> None:
        terminal = cli_user.open_terminal("login", "--url", server.base)
        terminal.wait_for("Username at ")
        terminal.type_bytes(b"\xff\n")
        assert final_screen(terminal, 2)[-1].startswith("cloudconsole: no username")


class TestWatch:
    def test_watch_refreshes_usage_until_ctrl_c(self, demo_user: CliUser, server: RunningServer) -> None:
        before = server.log().count('"GetUsageLimits"')
        terminal = demo_user.open_terminal("usage", "--watch", "0.5")
        screen = terminal.wait_for_text("instances")
        assert screen[0].startswith(f"demo at {server.base}, ")
        assert screen[2].split() == ["quota", "used", "limit", "free"]
        eventually(lambda: server.log().count('"GetUsageLimits"') > before + 2)
        terminal.type("\x03")
        assert terminal.end() == 130
        assert_terminal_restored(terminal)

    def test_terminated_watch_restores_the_terminal(self, demo_user: CliUser) -> None:
        terminal = demo_user.open_terminal("usage", "--watch", "60")
        terminal.wait_for_text("instances")
        terminal.process.terminate()
        assert terminal.end() == 143
        assert_terminal_restored(terminal)

    def test_a_watch_ends_with_its_session(self, logged_in_user: CliUser, server: RunningServer) -> None:
        terminal = logged_in_user.open_terminal("usage", "--watch", "0.5")
        terminal.wait_for_text("instances")
        assert logged_in_user.run("logout").code == 0
        assert terminal.end() == 1
        assert f"cloudconsole: the session of demo at {server.base} has ended" in terminal.shown
        assert_terminal_restored(terminal)

    def test_watch_on_a_dumb_terminal_is_rejected(self, demo_user: CliUser) -> None:
        terminal = demo_user.open_terminal("usage", "--watch", TERM="dumb")
        assert terminal.end() == 2
        assert "--watch requires --output json, or a terminal" in terminal.shown

    def test_watch_shows_a_lost_connection_and_continues(self, guest: CliUser, scripted: ScriptedServer) -> None:
        working = scripted.rule
        terminal = guest.open_terminal("usage", "--watch", "0.5")
        terminal.wait_for_text("instances")
        scripted.rule = lambda _: LOST
        screen = terminal.wait_for_text("cannot reach")
        assert any("instances" in line for line in screen)
        scripted.rule = working
        eventually(lambda: not any("cannot reach" in line for line in terminal.screen))
        assert any("instances" in line for line in terminal.screen)
        terminal.type("\x03")
        assert terminal.end() == 130


def assert_terminal_restored(terminal: Terminal) -> None:
    assert terminal.shown.count("\x1b[?1049h") == terminal.shown.count("\x1b[?1049l") == 1
    assert terminal.shown.rfind("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l")
    assert "Traceback" not in terminal.shown

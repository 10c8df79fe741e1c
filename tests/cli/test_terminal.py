"""The tenant's commands on a real terminal, as a person sees them."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest

from tests.cli.users import PASSWORD, Person
from tests.e2e.processes import eventually
from tests.harness import RunningServer, running_server
from tests.server.commands.test_escaped_output import NASTY, SHOWN
from tests.terminal import Terminal

GREEN, YELLOW, RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"
COLOUR = re.compile(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|9[0-9])[;0-9]*m")


def seen(terminal: Terminal, code: int = 0) -> list[str]:
    """The screen after the command's end, without the empty lines below."""
    assert terminal.end() == code, terminal.shown
    screen = terminal.screen
    while screen and not screen[-1]:
        screen.pop()
    return screen


@pytest.fixture(scope="module")
def odd_server(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A console of which something else than this program has written the store."""
    folder = tmp_path_factory.mktemp("odd")
    copytree(sample_store, folder / "data")
    with closing(sqlite3.connect(folder / "data/cloud.db")) as connection, connection:
        connection.execute("UPDATE news SET title = ?", [f"[red]{NASTY}[/red]"])
        connection.execute("UPDATE quotas SET instances = -1, cores = 13, ram = 50000, volumes = 2")
    with running_server(folder, sample=False) as running:
        yield running


@pytest.fixture
def odd_person(person: Person, odd_server: RunningServer) -> Person:
    person.logs_in(odd_server)
    return person


def test_usage_is_a_table_with_bars(demo_person: Person) -> None:
    heading, first, second, third, *_ = seen(demo_person.sits_at("usage"))
    assert heading.split() == ["quota", "used", "limit", "free"]
    assert re.fullmatch(r"cloud hosts {19}█{6}░{24} {6}4 {6}20 {5}16", first)
    assert second.split()[-3:] == ["13", "64", "51"]
    assert third.startswith("RAM (MB) ")


def test_chinese_lines_stand_below_each_other(demo_person: Person) -> None:
    terminal = demo_person.sits_at("usage", LC_ALL="zh_CN.UTF-8", COLUMNS="60")
    heading, *lines = seen(terminal)
    # In the screen's memory a wide character is followed by an empty cell.
    assert heading.split() == ["配额", "已用", "上限", "剩余"]
    bars = {line.index("█") for line in lines if "█" in line}
    assert len(bars) > 1
    assert len({wide(line[: line.index("█")]) for line in lines if "█" in line}) == 1


def wide(text: str) -> int:
    return sum(2 if character > "\u2e7f" else 1 for character in text)


def test_colours_tell_how_much_is_used(odd_person: Person) -> None:
    terminal = odd_person.sits_at("usage")
    assert terminal.end() == 0
    by_name = {line.strip().split("  ")[0]: line for line in terminal.shown.splitlines()}
    assert RED in by_name["cores"]
    assert YELLOW in by_name["RAM (MB)"]
    assert RED in by_name["cloud disks"]
    assert GREEN in by_name["snapshots"]
    assert not COLOUR.search(by_name["cloud hosts"])


def test_unlimited_and_too_much_are_told(odd_person: Person) -> None:
    lines = {line.split("  ")[0]: line.split() for line in seen(odd_person.sits_at("usage"))}
    assert lines["cloud hosts"][-3:] == ["4", "unlimited", "unlimited"]
    assert lines["cloud disks"][-3:] == ["3", "2", "0"]
    assert lines["cloud disks"][-4] == "█" * 30


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("command", [("usage",), ("costs", "--plot")])
def test_colours_can_be_done_without(
    demo_person: Person, command: tuple[str, ...], environment: dict[str, str]
) -> None:
    terminal = demo_person.sits_at(*command, **environment)
    assert terminal.end() == 0
    assert "█" in terminal.shown
    assert not COLOUR.search(terminal.shown)


@pytest.mark.parametrize("columns", [24, 40, 60, 120])
@pytest.mark.parametrize("command", ["usage", "costs"])
def test_a_narrow_terminal_loses_no_number(demo_person: Person, command: str, columns: int) -> None:
    numbers = re.findall(r"[\d.]+", demo_person.run(command).out)
    screen = seen(demo_person.sits_at(command, COLUMNS=str(columns), LINES="100"))
    assert sorted(re.findall(r"[\d.]+", " ".join(screen))) == sorted(numbers)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_what_someone_wrote_does_not_control_the_terminal(odd_person: Person, form: str) -> None:
    terminal = odd_person.sits_at("news", "--output", form, COLUMNS="200")
    assert terminal.end() == 0
    assert "\x1b[2J" not in terminal.shown
    assert "\u202e" not in terminal.shown
    shown = SHOWN if form != "json" else "a\\u001b[2J\\u202egnp"
    assert f"[red]{shown}" in terminal.shown


def test_csv_has_it_as_it_is_where_programs_read_it(odd_person: Person) -> None:
    assert f'"[red]{NASTY}[/red]"' in odd_person.run("news", "--output", "csv").out


def test_costs_stand_below_each_other_by_their_points(demo_person: Person) -> None:
    heading, *lines = seen(demo_person.sits_at("costs"))
    assert heading.split() == ["kind", "hour", "(CNY)", "day", "(CNY)", "month", "(CNY)", "year", "(CNY)"]
    assert len({tuple(match.start() for match in re.finditer(r"\.", line)) for line in lines}) == 1
    assert lines[-1].startswith("total ")


def test_costs_are_plotted_with_currency_and_rule(demo_person: Person) -> None:
    screen = seen(demo_person.sits_at("costs", "--plot"))
    assert screen[0].split() == ["kind", "hour", "(CNY)", "%"]
    assert screen[1].split()[2:] == ["█" * 30, "1.2714", "80.9"]
    assert screen[5:] == [
        "total, hour: 1.5717825 CNY",
        "total, day: 37.72278 CNY",
        "total, month: 1131.6834 CNY",
        "total, year: 13768.8147 CNY",
        "estimated from the current hour: day = hour × 24, month = day × 30, year = day × 365",
    ]


def test_flavors_tell_which_ram_goes_with_the_cores(demo_person: Person) -> None:
    screen = seen(demo_person.sits_at("flavors", "--vcpus", "4"))
    assert screen[0].split() == ["id", "name", "cores", "RAM", "(MB)", "disk", "(GB)"]
    assert screen[-1] == "RAM with 4 cores: 4096, 8192, 16384 MB"


def test_a_domain_is_a_record(demo_person: Person) -> None:
    screen = seen(demo_person.sits_at("domain", "206813"))
    assert not any("[]" in line for line in screen)
    assert screen[0] == "id                206813"
    assert "enabled           yes" in screen


def test_a_password_is_asked_for_and_never_seen(person: Person, server: RunningServer) -> None:
    terminal = person.sits_at("login", "--url", server.base)
    terminal.wait_for(f"Username at {server.base}: ")
    terminal.type("demo\n")
    terminal.wait_for(f"Password for demo at {server.base}: ")
    terminal.type_unseen(f"{PASSWORD}\n")
    assert seen(terminal)[-1] == f"logged in as demo at {server.base}"
    assert PASSWORD not in terminal.shown
    assert person.run("usage").code == 0


def test_standard_input_as_the_password_s_file_is_not_seen_either(person: Person, server: RunningServer) -> None:
    terminal = person.sits_at("login", "--url", server.base, "--username", "demo", "--password-file", "-")
    terminal.wait_for("Password for demo")
    terminal.type_unseen(f"{PASSWORD}\n")
    assert seen(terminal)[-1] == f"logged in as demo at {server.base}"
    assert PASSWORD not in terminal.shown


def test_so_it_is_when_the_session_has_ended(newcomer: Person, server: RunningServer) -> None:
    kept = newcomer.sessions_file.read_text()
    assert newcomer.run("logout").code == 0
    newcomer.sessions_file.write_text(kept)
    terminal = newcomer.sits_at("urls")
    terminal.wait_for("Password for demo at ")
    terminal.type_unseen(f"{PASSWORD}\n")
    assert "url-d3m0d1r0" in "\n".join(seen(terminal))


def test_nobody_types_a_password_for_a_console_that_is_not_there(person: Person) -> None:
    terminal = person.sits_at("login", "--url", "http://127.0.0.1:1", "--username", "demo", "--timeout", "1")
    assert terminal.end() == 3
    assert "assword" not in terminal.shown


def test_no_password_is_no_login(person: Person, server: RunningServer) -> None:
    terminal = person.sits_at("login", "--url", server.base, "--username", "demo")
    terminal.wait_for("Password for demo")
    terminal.type_unseen("\n")
    assert seen(terminal, 2)[-1] == "cloudconsole: no password entered"


def test_ctrl_c_at_the_prompt_is_130(person: Person, server: RunningServer) -> None:
    terminal = person.sits_at("login", "--url", server.base, "--username", "demo")
    terminal.wait_for("Password for demo")
    terminal.type_unseen("\x03")
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    assert terminal.shown.endswith("\n")


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 2)])
@pytest.mark.parametrize("prompt", ["Username", "Password"])
def test_a_prompt_that_is_left_ends_its_line(
    person: Person, server: RunningServer, prompt: str, key: str, code: int
) -> None:
    terminal = person.sits_at("login", "--url", server.base, *(["--username", "x"] if prompt == "Password" else []))
    terminal.wait_for(prompt)
    (terminal.type_unseen if prompt == "Password" else terminal.type)(key)
    assert terminal.end() == code
    asked, *told = terminal.shown.split("\r\n")
    assert "cloudconsole: " not in asked
    assert all(line == "" or line.startswith("cloudconsole: ") for line in told)
    assert told


def test_usage_is_watched_until_ctrl_c(demo_person: Person, server: RunningServer) -> None:
    before = server.log().count('"GetUsageLimits"')
    terminal = demo_person.sits_at("usage", "--watch", "0.5")
    screen = terminal.wait_to_see("cloud hosts")
    assert screen[0].startswith(f"demo at {server.base}, ")
    assert screen[2].split() == ["quota", "used", "limit", "free"]
    eventually(lambda: server.log().count('"GetUsageLimits"') > before + 2)
    terminal.type("\x03")
    assert terminal.end() == 130
    assert_left_as_it_was(terminal)


def test_a_watch_that_is_ended_from_outside_leaves_the_terminal_as_it_was(demo_person: Person) -> None:
    terminal = demo_person.sits_at("usage", "--watch", "0.5")
    terminal.wait_to_see("cloud hosts")
    terminal.process.terminate()
    assert terminal.end() == 143
    assert_left_as_it_was(terminal)


def test_a_watch_ends_with_its_session(newcomer: Person, server: RunningServer) -> None:
    terminal = newcomer.sits_at("usage", "--watch", "0.5")
    terminal.wait_to_see("cloud hosts")
    assert newcomer.run("logout").code == 0
    assert terminal.end() == 1
    assert f"cloudconsole: the session of demo at {server.base} has ended" in terminal.shown
    assert_left_as_it_was(terminal)


@pytest.mark.parametrize("columns", ["0", "1", "9"])
def test_a_terminal_without_a_width_has_the_usual_one(demo_person: Person, columns: str) -> None:
    terminal = demo_person.sits_at("usage", COLUMNS=columns, NO_COLOR="1")
    assert terminal.end() == 0
    assert re.search(r"cloud hosts +█", terminal.shown)


def test_a_terminal_that_cannot_draw_anew_is_not_watched(demo_person: Person) -> None:
    terminal = demo_person.sits_at("usage", "--watch", TERM="dumb")
    assert terminal.end() == 2
    assert "--watch requires a terminal" in terminal.shown


def test_a_name_that_is_no_text_is_none(person: Person, server: RunningServer) -> None:
    terminal = person.sits_at("login", "--url", server.base)
    terminal.wait_for("Username at ")
    terminal.type_bytes(b"\xff\n")
    assert seen(terminal, 2)[-1].startswith("cloudconsole: no username")


def assert_left_as_it_was(terminal: Terminal) -> None:
    assert terminal.shown.count("\x1b[?1049h") == terminal.shown.count("\x1b[?1049l") == 1
    assert terminal.shown.rfind("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l")
    assert "Traceback" not in terminal.shown


def test_a_lost_connection_is_seen_and_the_watch_goes_on(
    person: Person, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("lost")
    with running_server(folder) as server:
        person.logs_in(server)
        port = str(server.port)
        terminal = person.sits_at("usage", "--watch", "0.5")
        terminal.wait_to_see("cloud hosts")
    screen = terminal.wait_to_see("cannot reach")
    assert any("cloud hosts" in line for line in screen)
    with running_server(folder, "--port", port, sample=False):
        eventually(lambda: not any("cannot reach" in line for line in terminal.screen))
        assert any("cloud hosts" in line for line in terminal.screen)
        terminal.type("\x03")
        assert terminal.end() == 130

"""Logging in once is enough: the session is kept, renewed where that can be done, and forgotten when asked."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cli.users import PASSWORD, Person
from tests.client.scripted_server import ScriptedServer, envelope
from tests.harness import Caller, OverHttp, RunningServer, running_server


def logins(server: RunningServer) -> int:
    lines = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
    return sum(line.get("path") == "/auth/login/" for line in lines)


def end_session(person: Person, server: RunningServer) -> None:
    """As if it had expired: the console does not know it any more."""
    (kept,) = person.kept()["sessions"]
    wire = OverHttp(server.base)
    caller = Caller(wire, {cookie["name"]: cookie["value"] for cookie in kept["cookies"]})
    assert caller.logout().status == 200
    wire.close()


def test_a_second_command_makes_no_login(demo_person: Person, server: RunningServer) -> None:
    before = logins(server)
    for command in ("usage", "news", "costs", "whoami"):
        assert demo_person.run(command).code == 0
    assert logins(server) == before


def test_a_login_keeps_a_session_and_no_password(newcomer: Person) -> None:
    assert newcomer.sessions_file.stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in newcomer.sessions_file.read_text()


def test_a_first_command_logs_in_by_itself_and_the_second_does_not(person: Person, server: RunningServer) -> None:
    before = logins(server)
    person.variables = {"CLOUDCONSOLE_URL": server.base, "CLOUDCONSOLE_USERNAME": "demo"}
    assert person.run("usage", CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
    assert person.run("usage").code == 0
    assert logins(server) == before + 1


@pytest.mark.parametrize("way", ["variable", "file", "standard input", "OpenStack"])
def test_where_a_password_may_come_from(person: Person, server: RunningServer, way: str) -> None:
    (person.folder / "secret").write_text(f"{PASSWORD}\n")
    arguments = ["usage", "--url", server.base]
    if way == "variable":
        done = person.run(*arguments, "--username", "demo", CLOUDCONSOLE_PASSWORD=PASSWORD)
    elif way == "file":
        done = person.run(*arguments, "--username", "demo", "--password-file", "secret")
    elif way == "standard input":
        done = person.run(*arguments, "--username", "demo", "--password-file", "-", stdin=PASSWORD)
    else:
        done = person.run(*arguments, OS_USERNAME="demo", OS_PASSWORD=PASSWORD, OS_AUTH_URL=f"{server.base}/v3")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("content", [None, b"", b"\n", b"two\nlines\n", b"\xff", b"x" * 9000])
def test_a_file_that_holds_no_password_is_told(person: Person, server: RunningServer, content: bytes | None) -> None:
    if content is not None:
        (person.folder / "secret").write_bytes(content)
    done = person.run("usage", "--url", server.base, "--username", "demo", "--password-file", "secret")
    assert done.code == 2
    assert done.err.startswith("cloudconsole: --password-file: secret: ")


def test_a_session_that_ended_is_renewed_with_a_password_at_hand(newcomer: Person, server: RunningServer) -> None:
    end_session(newcomer, server)
    before = logins(server)
    assert newcomer.run("usage", CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
    assert newcomer.run("usage").code == 0
    assert logins(server) == before + 1


def test_without_one_the_three_ways_are_told(newcomer: Person, server: RunningServer) -> None:
    end_session(newcomer, server)
    done = newcomer.run("usage")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"cloudconsole: no password for demo at {server.base}: enter it at a terminal, pass "
        "--password-file, or set CLOUDCONSOLE_PASSWORD\n"
    )


@pytest.mark.parametrize("content", ["", "{broken", '{"sessions": 5}'])
def test_a_damaged_file_is_a_new_login(demo_person: Person, server: RunningServer, content: str) -> None:
    demo_person.sessions_file.write_text(content)
    done = demo_person.run("usage", "--url", server.base, "--username", "demo", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("value", ["damaged", "dam\naged", "dämaged"])
def test_damaged_cookies_are_a_new_login(demo_person: Person, value: str) -> None:
    kept = demo_person.kept()
    for cookie in kept["sessions"][0]["cookies"]:
        cookie["value"] = value
    demo_person.sessions_file.write_text(json.dumps(kept))
    done = demo_person.run("usage", CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("name", ["CLOUDCONSOLE_PASSWORD", "CLOUDCONSOLE_USERNAME", "CLOUDCONSOLE_REGION"])
def test_what_is_not_text_is_told(person: Person, server: RunningServer, name: str) -> None:
    person.variables = {"CLOUDCONSOLE_URL": server.base, "CLOUDCONSOLE_USERNAME": "demo", "CLOUDCONSOLE_PASSWORD": "x"}
    done = person.run("usage", **{name: "\udcff"})
    assert (done.code, done.err) == (2, "cloudconsole: an argument or environment variable is not valid UTF-8\n")


def test_a_command_that_logs_nobody_in_changes_nothing(newcomer: Person) -> None:
    """So it cannot put back a session that another command has ended or renewed meanwhile."""
    before = newcomer.sessions_file.stat().st_ino
    assert newcomer.run("costs").code == 0
    assert newcomer.sessions_file.stat().st_ino == before


def test_a_session_is_not_used_for_another_user(demo_person: Person, server: RunningServer) -> None:
    assert demo_person.run("usage", "--username", "other").code == 2
    assert demo_person.json("usage", "--output", "json")["maxTotalInstances"] == 20


def test_a_session_is_not_used_for_another_region(demo_person: Person, server: RunningServer) -> None:
    done = demo_person.run("usage", "--region", f"{server.base}/other")
    assert done.code == 2
    assert "no password for demo" in done.err


def test_several_accounts_can_be_used_side_by_side(demo_person: Person, server: RunningServer) -> None:
    before = logins(server)
    demo_person.run("usage", "--url", server.base, "--username", "other", CLOUDCONSOLE_PASSWORD="console-other")
    for username, most in (("other", 8), ("demo", 20)):
        usage = demo_person.json("usage", "--output", "json", "--username", username)
        assert usage["maxTotalInstances"] == most
    assert demo_person.json("whoami", "--output", "json")["username"] == "demo"
    assert logins(server) == before + 1


def test_many_commands_at_once_do_not_disturb_each_other(person: Person, server: RunningServer) -> None:
    person.variables = {"CLOUDCONSOLE_URL": server.base, "CLOUDCONSOLE_USERNAME": "demo"}
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: person.run("usage", CLOUDCONSOLE_PASSWORD=PASSWORD), range(6)))
    assert {(each.code, each.err) for each in done} == {(0, "")}
    assert person.run("usage").code == 0


def test_a_login_that_the_next_call_does_not_know_is_none(person: Person) -> None:
    with ScriptedServer() as other:
        other.actions = [envelope(None, code=401)]
        given = ("--url", other.base, "--username", "demo", "--region", "r")
        done = person.run("login", *given, CLOUDCONSOLE_PASSWORD="wrong")
    assert (done.code, done.out) == (1, "")
    assert "the credentials are wrong" in done.err
    assert not person.sessions_file.exists()


def test_a_console_s_other_faults_are_not_the_login_s(person: Person) -> None:
    with ScriptedServer() as other:
        other.actions = [envelope(None, code=404, error="unknown_action")]
        given = ("--url", other.base, "--username", "demo", "--region", "r")
        assert person.run("login", *given, CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "other at http://127.0.0.1:1 (set by profile a)"),
        ({"CLOUDCONSOLE_USERNAME": "bob"}, "bob at http://127.0.0.1:1 (set by profile a, CLOUDCONSOLE_…)"),
    ],
)
def test_that_later_commands_mean_another_account_is_told(
    person: Person, server: RunningServer, variables: dict[str, str], told: str
) -> None:
    person.has_profiles('default = "a"\n[profiles.a]\nurl = "http://127.0.0.1:1"\nusername = "other"\n')
    given = ("--url", server.base, "--username", "demo", "--password-file", "-")
    done = person.run("login", *given, stdin=PASSWORD, **variables)
    assert (done.code, done.out) == (0, f"logged in as demo at {server.base}\n")
    assert done.err == f"cloudconsole: note: without flags, commands use {told}\n"


def test_logging_out_ends_the_session_everywhere(newcomer: Person, server: RunningServer) -> None:
    copied = newcomer.sessions_file.read_bytes()
    done = newcomer.run("logout")
    assert (done.code, done.out) == (0, f"logged out: demo at {server.base}\n")
    assert newcomer.kept() == {"sessions": [], "last_login": None, "ca_file": None}
    newcomer.sessions_file.write_bytes(copied)
    assert newcomer.run("usage").code == 2


def test_logging_out_twice_is_no_error(newcomer: Person, server: RunningServer) -> None:
    assert newcomer.run("logout").code == 0
    done = newcomer.run("logout", "--url", server.base, "--username", "demo")
    assert (done.code, done.out) == (0, f"not logged in at {server.base}\n")


def test_logging_out_of_a_console_that_is_gone_forgets_it_here(
    person: Person, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with running_server(tmp_path_factory.mktemp("gone")) as server:
        person.logs_in(server)
    done = person.run("logout", "--timeout", "1")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("cloudconsole: local session removed, but server-side logout failed: ")
    assert person.kept()["sessions"] == []


@pytest.mark.parametrize(("spoil", "state", "code"), [(None, "live", 0), ("end", "ended", 1), ("logout", "none", 1)])
def test_whoami_tells_whether_the_session_is_live(
    newcomer: Person, server: RunningServer, spoil: str | None, state: str, code: int
) -> None:
    if spoil == "end":
        end_session(newcomer, server)
    if spoil == "logout":
        newcomer.run("logout")
    before = logins(server)
    arguments = ("whoami", "--output", "json", "--url", server.base, "--username", "demo")
    done = newcomer.run(*arguments, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (done.code, json.loads(done.out)["session"]) == (code, state)
    assert logins(server) == before


def test_whoami_tells_where_it_is_from(demo_person: Person, server: RunningServer) -> None:
    done = demo_person.run("whoami", CLOUDCONSOLE_REGION=f"{server.base}/v3")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert ["address", server.base, "the last login"] in rows
    assert ["region", f"{server.base}/v3", "CLOUDCONSOLE_…"] in rows


def test_where_nothing_can_be_kept_a_command_works_and_a_login_does_not(person: Person, server: RunningServer) -> None:
    (person.folder / "state").write_text("a file, not a folder")
    arguments = ("--url", server.base, "--username", "demo")
    shown = person.run("usage", *arguments, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (shown.code, shown.out.splitlines()[1]) == (0, "cloud hosts\t4\t20\t16")
    assert shown.err.startswith("cloudconsole: cannot save the session: ")
    assert shown.err.count("\n") == 1
    login = person.run("login", *arguments, CLOUDCONSOLE_PASSWORD=PASSWORD)
    assert (login.code, login.out, login.err) == (1, "", shown.err)

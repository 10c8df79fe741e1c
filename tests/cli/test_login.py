"""Sessions are saved at login, renewed where possible, and deleted at logout."""

import json

import pytest

from tests.cli.users import PASSWORD, CliUser
from tests.client.scripted_server import Canned, ScriptedServer, envelope
from tests.harness import ApiClient, HttpTransport, RunningServer


def logins(server: RunningServer) -> int:
    lines = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
    return sum(line.get("path") == "/auth/login/" for line in lines)


def end_session(cli_user: CliUser, server: RunningServer) -> None:
    """End the session on the server only, as if it had expired."""
    (saved,) = cli_user.saved_sessions()["sessions"]
    transport = HttpTransport(server.base)
    client = ApiClient(transport, {cookie["name"]: cookie["value"] for cookie in saved["cookies"]})
    assert client.logout().status == 200
    transport.close()


class TestLogin:
    def test_first_command_logs_in_and_the_next_ones_do_not(self, cli_user: CliUser, server: RunningServer) -> None:
        before = logins(server)
        cli_user.variables = {"CLOUDCONSOLE_URL": server.base, "CLOUDCONSOLE_USERNAME": "demo"}
        assert cli_user.run("usage", CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
        for command in ("usage", "whoami"):
            assert cli_user.run(command).code == 0
        assert logins(server) == before + 1
        assert PASSWORD not in cli_user.sessions_file.read_text()

    @pytest.mark.parametrize(
        ("arguments", "variables"),
        [
            (("--username", "demo"), {"CLOUDCONSOLE_PASSWORD": PASSWORD}),
            (("--username", "demo", "--password-file", "secret"), {}),
            (("--username", "demo", "--password-file", "-"), {}),
            ((), {"OS_USERNAME": "demo", "OS_PASSWORD": PASSWORD, "OS_AUTH_URL": "{}/v3"}),
        ],
    )
    def test_password_may_come_from_several_sources(
        self, cli_user: CliUser, server: RunningServer, arguments: tuple[str, ...], variables: dict[str, str]
    ) -> None:
        (cli_user.home / "secret").write_text(f"{PASSWORD}\n")
        (cli_user.home / "secret").chmod(0o600)
        variables = {name: value.format(server.base) for name, value in variables.items()}
        done = cli_user.run("usage", "--url", server.base, *arguments, stdin=PASSWORD, **variables)
        assert (done.code, done.err) == (0, "")

    def test_application_credential_of_openstack_logs_in(self, cli_user: CliUser) -> None:
        variables = {
            "OS_AUTH_URL": "https://identity.example/v3",
            "OS_APPLICATION_CREDENTIAL_ID": "an-id",
            "OS_APPLICATION_CREDENTIAL_SECRET": "a-secret",
            "OS_USERNAME": "bob",
            "OS_PASSWORD": "b0b",
            "OS_PROJECT_NAME": "acme",
        }
        with ScriptedServer() as scripted:
            assert cli_user.run("login", "--url", scripted.base, **variables).code == 0
            form = scripted.logins[0].form
        assert (form["username"], form["password"]) == ("application_credential:an-id", "a-secret")
        assert form["region"] == "https://identity.example/v3"
        assert "project" not in form

    @pytest.mark.parametrize(
        ("arguments", "variables"),
        [
            (("--project", "acme"), {"CLOUDCONSOLE_PROJECT": "b"}),
            ((), {"CLOUDCONSOLE_PROJECT": "acme", "OS_PROJECT_NAME": "b"}),
            ((), {"OS_PROJECT_NAME": "acme"}),
            ((), {"OS_PROJECT_ID": "acme", "OS_PROJECT_NAME": "b"}),
            (("--profile", "a"), {"OS_PROJECT_NAME": "b"}),
        ],
    )
    def test_project_may_come_from_several_sources(
        self, cli_user: CliUser, arguments: tuple[str, ...], variables: dict[str, str]
    ) -> None:
        variables |= {"OS_USERNAME": "demo", "OS_PASSWORD": PASSWORD, "OS_AUTH_URL": "https://identity.example/v3"}
        with ScriptedServer() as scripted:
            cli_user.write_profiles(f'[profiles.a]\nurl = "{scripted.base}"\nproject = "acme"\n')
            assert cli_user.run("login", "--url", scripted.base, *arguments, **variables).code == 0
            assert [login.form["project"] for login in scripted.logins] == ["acme"]
        assert cli_user.saved_sessions()["last_login"][3] == "acme"

    def test_a_session_is_for_one_project(self, cli_user: CliUser) -> None:
        cli_user.variables = {"CLOUDCONSOLE_USERNAME": "demo", "CLOUDCONSOLE_PASSWORD": PASSWORD}
        with ScriptedServer() as scripted:
            cli_user.variables |= {"CLOUDCONSOLE_URL": scripted.base, "CLOUDCONSOLE_REGION": "r"}
            for project in ("a", "b", "a"):
                assert cli_user.run("call", "GetNews", "--project", project).code == 0
            assert cli_user.run("call", "GetNews").code == 0
            assert [login.form.get("project") for login in scripted.logins] == ["a", "b", None]

    @pytest.mark.parametrize("content", [None, b"", b"\n", b"two\nlines\n", b"\xff", b"x" * 9000])
    def test_invalid_password_file_is_rejected(
        self, cli_user: CliUser, server: RunningServer, content: bytes | None
    ) -> None:
        if content is not None:
            (cli_user.home / "secret").write_bytes(content)
            (cli_user.home / "secret").chmod(0o600)
        done = cli_user.run("usage", "--url", server.base, "--username", "demo", "--password-file", "secret")
        assert done.code == 2
        assert done.err.startswith("cloudconsole: --password-file: secret: ")

    def test_non_utf_8_password_is_rejected(self, cli_user: CliUser, server: RunningServer) -> None:
        done = cli_user.run("usage", "--url", server.base, "--username", "demo", CLOUDCONSOLE_PASSWORD="\udcff")
        assert (done.code, done.err) == (2, "cloudconsole: an argument or environment variable is not valid UTF-8\n")

    @pytest.mark.parametrize(
        ("response", "code"), [(envelope(None, code=401), 1), (envelope(None, code=404, error="unknown_action"), 0)]
    )
    def test_login_fails_only_if_the_next_request_is_unauthenticated(
        self, cli_user: CliUser, response: Canned, code: int
    ) -> None:
        with ScriptedServer() as scripted:
            scripted.actions = [response]
            options = ("--url", scripted.base, "--username", "demo", "--region", "r")
            done = cli_user.run("login", *options, CLOUDCONSOLE_PASSWORD=PASSWORD)
        assert done.code == code
        assert ("the credentials are wrong" in done.err) == bool(code)
        assert cli_user.sessions_file.exists() == (not code)

    @pytest.mark.parametrize(
        ("variables", "message"),
        [
            ({}, "other at http://127.0.0.1:1 (set by profile a)"),
            ({"CLOUDCONSOLE_USERNAME": "bob"}, "bob at http://127.0.0.1:1 (set by profile a, CLOUDCONSOLE_…)"),
        ],
    )
    def test_login_notes_that_later_commands_use_another_account(
        self, cli_user: CliUser, server: RunningServer, variables: dict[str, str], message: str
    ) -> None:
        cli_user.write_profiles('default = "a"\n[profiles.a]\nurl = "http://127.0.0.1:1"\nusername = "other"\n')
        options = ("--url", server.base, "--username", "demo", "--password-file", "-")
        done = cli_user.run("login", *options, stdin=PASSWORD, **variables)
        assert (done.code, done.out) == (0, f"logged in as demo at {server.base}\n")
        assert done.err == f"cloudconsole: note: without flags, commands use {message}\n"

    def test_unsaved_session_fails_login_but_not_other_commands(self, cli_user: CliUser, server: RunningServer) -> None:
        (cli_user.home / "state").write_text("a file, not a folder")
        arguments = ("--url", server.base, "--username", "demo")
        shown = cli_user.run("usage", *arguments, CLOUDCONSOLE_PASSWORD=PASSWORD)
        assert (shown.code, shown.out.splitlines()[1]) == (0, "instances\t4\t20\t16")
        assert shown.err.startswith("cloudconsole: cannot save the session: ")
        assert shown.err.count("\n") == 1
        login = cli_user.run("login", *arguments, CLOUDCONSOLE_PASSWORD=PASSWORD)
        assert (login.code, login.out, login.err) == (1, "", shown.err)


class TestSavedSessions:
    def test_ended_session_is_renewed_with_an_available_password(
        self, logged_in_user: CliUser, server: RunningServer
    ) -> None:
        end_session(logged_in_user, server)
        before = logins(server)
        assert logged_in_user.run("usage", CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
        assert logged_in_user.run("usage").code == 0
        assert logins(server) == before + 1

    def test_ended_session_without_a_password_suggests_sources(
        self, logged_in_user: CliUser, server: RunningServer
    ) -> None:
        end_session(logged_in_user, server)
        done = logged_in_user.run("usage")
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"cloudconsole: no password for demo at {server.base}: enter it at a terminal, pass "
            "--password-file, or set CLOUDCONSOLE_PASSWORD\n"
        )

    def test_command_without_login_leaves_the_session_file_alone(self, logged_in_user: CliUser) -> None:
        """Otherwise it could restore a session that another command has ended or renewed in the meantime."""
        before = logged_in_user.sessions_file.stat().st_ino
        assert logged_in_user.run("costs").code == 0
        assert logged_in_user.sessions_file.stat().st_ino == before

    @pytest.mark.parametrize("other", [("--username", "other"), ("--region", "http://elsewhere.example/v3")])
    def test_a_session_is_not_used_for_another_account(self, demo_user: CliUser, other: tuple[str, str]) -> None:
        done = demo_user.run("usage", *other)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("cloudconsole: no password for ")

    def test_several_accounts_can_be_used_side_by_side(self, demo_user: CliUser, server: RunningServer) -> None:
        before = logins(server)
        demo_user.run("usage", "--url", server.base, "--username", "other", CLOUDCONSOLE_PASSWORD="console-other")
        for username, most in (("other", 8), ("demo", 20)):
            usage = demo_user.json("usage", "--output", "json", "--username", username)
            assert usage["maxTotalInstances"] == most
        assert demo_user.json("whoami", "--output", "json")["username"] == "demo"
        assert demo_user.run("whoami", "--output", "markdown").out.startswith("| setting | value |")
        assert logins(server) == before + 1


class TestLogout:
    def test_logout_also_ends_the_session_on_the_server(self, logged_in_user: CliUser, server: RunningServer) -> None:
        copied = logged_in_user.sessions_file.read_bytes()
        done = logged_in_user.run("logout")
        assert (done.code, done.out) == (0, f"logged out: demo at {server.base}\n")
        assert logged_in_user.saved_sessions() == {"sessions": [], "last_login": None, "ca_file": None}
        again = logged_in_user.run("logout", "--url", server.base, "--username", "demo")
        assert (again.code, again.out) == (0, f"not logged in at {server.base}\n")
        logged_in_user.sessions_file.write_bytes(copied)
        assert logged_in_user.run("usage").code == 2

    def test_logout_from_a_stopped_server_deletes_the_local_session(self, cli_user: CliUser) -> None:
        with ScriptedServer() as scripted:
            options = ("--url", scripted.base, "--username", "demo", "--region", "r")
            assert cli_user.run("login", *options, CLOUDCONSOLE_PASSWORD=PASSWORD).code == 0
        done = cli_user.run("logout", "--timeout", "0.5")
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith("cloudconsole: local session removed, but server-side logout failed: ")
        assert cli_user.saved_sessions()["sessions"] == []


class TestWhoami:
    @pytest.mark.parametrize(
        ("ending", "state", "code"), [(None, "live", 0), ("end", "ended", 1), ("logout", "none", 1)]
    )
    def test_whoami_shows_whether_the_session_is_live(
        self, logged_in_user: CliUser, server: RunningServer, ending: str | None, state: str, code: int
    ) -> None:
        if ending == "end":
            end_session(logged_in_user, server)
        if ending == "logout":
            logged_in_user.run("logout")
        before = logins(server)
        arguments = ("whoami", "--output", "json", "--url", server.base, "--username", "demo")
        done = logged_in_user.run(*arguments, CLOUDCONSOLE_PASSWORD=PASSWORD)
        assert (done.code, json.loads(done.out)["session"]) == (code, state)
        assert logins(server) == before

    def test_whoami_shows_where_each_value_comes_from(self, demo_user: CliUser, server: RunningServer) -> None:
        done = demo_user.run("whoami", CLOUDCONSOLE_REGION=f"{server.base}/v3")
        rows = [line.split("\t") for line in done.out.splitlines()]
        assert ["URL", server.base, "the last login"] in rows
        assert ["region", f"{server.base}/v3", "CLOUDCONSOLE_…"] in rows
        assert ["CA file", "", ""] in rows
        done = demo_user.run("whoami", "--project", "acme")
        assert ["project", "acme", "command line"] in [line.split("\t") for line in done.out.splitlines()]

"""User files: locations and profiles; rejected if others can change them, since they decide where credentials go."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cloudconsole.cli.config import Profile, Profiles, read_profiles
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.passwords import in_file
from cloudconsole.cli.paths import profiles_file, sessions_file
from tests.cli.users import CliUser
from tests.harness import RunningServer
from tests.other_users import chown_to_other_user

Read = Callable[[Path], object]


@pytest.mark.parametrize(
    ("environment", "directory"),
    [({}, "/home/ann/{}"), ({"XDG": "/elsewhere"}, "/elsewhere"), ({"XDG": "relative"}, "/home/ann/{}")],
)
def test_user_directories_follow_the_xdg_specification(
    environment: dict[str, str], directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    variables = {f"XDG_{kind}_HOME": value for kind in ("CONFIG", "STATE") for value in environment.values()}
    assert profiles_file(variables) == Path(directory.format(".config")) / "cloudconsole/config.toml"
    assert sessions_file(variables) == Path(directory.format(".local/state")) / "cloudconsole/sessions.json"


@pytest.mark.parametrize("home", ["relative", "."])
def test_relative_home_is_not_used(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    assert sessions_file({}) == Path("/nonexistent/.local/state/cloudconsole/sessions.json")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def errors_in(file: Path, text: str | bytes) -> list[str]:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as rejected:
        read_profiles(file)
    return [line.removeprefix(str(file)) for line in str(rejected.value).splitlines()]


class TestProfiles:
    def test_missing_file_means_no_profiles(self, file: Path) -> None:
        assert read_profiles(file) == Profiles(file)

    def test_profile_with_every_key(self, file: Path) -> None:
        file.write_text(
            'default = "work"\n'
            "[profiles.work]\n"
            'url = "HTTPS://Console.Example.com:8443/"\n'
            'region = "https://identity.example.com/v3"\n'
            'project = "acme"\n'
            'username = "alice"\n'
            'password_file = "secret"\n'
            'ca_file = "/etc/ca.pem"\n'
            'output = "csv"\n'
            'language = "zh"\n'
            "[profiles.empty]\n"
        )
        urls = ("https://console.example.com:8443", "https://identity.example.com/v3")
        files = (file.parent / "secret", Path("/etc/ca.pem"))
        work = Profile("work", *urls, "acme", "alice", *files, "csv", "zh")
        assert read_profiles(file) == Profiles(file, {"work": work, "empty": Profile("empty")}, "work")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("default = 1", ":1: default: must be the name of a profile"),
            ('default = "x"\n[profiles.y]', ":1: default: must be the name of a profile; available: y"),
            ("\nprofile = 1", ":2: profile: unknown key"),
            ("profiles = 1", ":1: profiles: must be tables"),
            ("[profiles]\nwork = 1", ":2: profiles.work: must be tables"),
            ("[profiles.a]\n\nusrname = 'x'", ":3: profiles.a.usrname: unknown key; valid keys: url, region"),
            ("[profiles.a]\nusername = 5", ":2: profiles.a.username: must be a non-empty string"),
            ("[profiles.a]\nusername = ''", ":2: profiles.a.username: must be a non-empty string"),
            ("[profiles.a]\nurl = 'console'", ":2: profiles.a.url: must be a URL"),
            ("[profiles.a]\nurl = 'http://u:p@host'", ":2: profiles.a.url: must be a URL"),
            ("[profiles.a]\nca_file = '~nobody-at-all/ca'", ":2: profiles.a.ca_file: this user has no home directory"),
            ("[profiles.a]\noutput = 'xml'", ":2: profiles.a.output: must be one of table, json, yaml, csv"),
            ("[profiles.a]\nlanguage = 'fr'", ":2: profiles.a.language: must be one of en, zh"),
            ("[profiles.a]\npassword = 'p4ss'", ":2: profiles.a.password: passwords are not allowed in this file"),
            (
                "[profiles.a]\nusername = 'x'\npassword_file = 'p'",
                ":3: profiles.a.password_file: belongs to one account",
            ),
            (
                "[profiles.a]\nurl = 'http://h'\npassword_file = 'p'",
                ":3: profiles.a.password_file: belongs to one account",
            ),
            # A null byte in a path would make Python raise ValueError.
            ('[profiles.a]\nca_file = "a\\u0000b"', ":2: profiles.a.ca_file: must be a non-empty string"),
            ("profiles = {a = {url = 1}}", ": profiles.a.url: must be a non-empty string"),
            ("[profiles", ": invalid TOML: "),
            (b"\xff", ": not valid UTF-8"),
        ],
    )
    def test_error_names_its_line_and_key(self, file: Path, text: str | bytes, message: str) -> None:
        (line,) = errors_in(file, text)
        assert line.startswith(message)
        assert "p4ss" not in line

    def test_all_errors_are_reported_at_once(self, file: Path) -> None:
        lines = errors_in(file, 'default = "z"\nx = 1\n[profiles.a]\nurl = 1\n[profiles.b]\nurl = 2\n')
        assert [line.split(": ")[:2] for line in lines] == [
            [":2", "x"],
            [":4", "profiles.a.url"],
            [":6", "profiles.b.url"],
            [":1", "default"],
        ]

    @pytest.mark.parametrize(("make", "message"), [(Path.mkdir, "Is a directory"), (os.mkfifo, "not a regular file")])
    def test_unreadable_file_is_rejected(self, file: Path, make: Callable[[Path], None], message: str) -> None:
        make(file)
        with pytest.raises(UsageError, match=message):
            read_profiles(file)

    def test_command_reports_an_invalid_profile_and_exits(self, cli_user: CliUser, server: RunningServer) -> None:
        cli_user.write_profiles("[profiles.a]\nusrname = 'x'\n")
        done = cli_user.run("usage", "--url", server.base, "--username", "demo")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"cloudconsole: {cli_user.profiles_file}:2: profiles.a.usrname: ")

    @pytest.mark.parametrize(
        ("arguments", "variables"), [(["--profile", "b"], {}), ([], {"CLOUDCONSOLE_PROFILE": "b"}), ([], {})]
    )
    def test_profile_with_a_password_file_logs_in(
        self, cli_user: CliUser, server: RunningServer, arguments: list[str], variables: dict[str, str]
    ) -> None:
        (cli_user.home / "secret").write_text("console-other\n")
        (cli_user.home / "secret").chmod(0o600)
        cli_user.write_profiles(
            f'default = "{"a" if arguments or variables else "b"}"\n[profiles.a]\nurl = "http://127.0.0.1:1"\n'
            f'[profiles.b]\nurl = "{server.base}"\nusername = "other"\n'
            'password_file = "../../secret"\noutput = "json"\n'
        )
        assert cli_user.json("usage", *arguments, **variables)["maxTotalInstances"] == 8
        account = {"profile": "b", "url": server.base, "username": "other", "region": f"{server.base}/v3"}
        unset = {"project": None, "ca_file": None}
        assert cli_user.json("whoami", *arguments, **variables) == {**account, **unset, "session": "live"}

    def test_password_file_that_everyone_can_read_is_reported(self, cli_user: CliUser, server: RunningServer) -> None:
        secret = cli_user.home / "secret"
        secret.write_text("console-demo")
        arguments = ("urls", "--url", server.base, "--username", "demo", "--password-file", secret)
        secret.chmod(0o644)
        done = cli_user.run(*arguments)
        warning = f"cloudconsole: warning: every user of this machine can read {secret}; fix it with: "
        assert (done.code, done.err) == (0, f"{warning}chmod o-r {secret}\n")
        secret.chmod(0o640)
        cli_user.sessions_file.unlink()
        assert cli_user.run(*arguments).err == ""

    @pytest.mark.parametrize(
        ("arguments", "variables", "username"),
        [
            ([], {}, "alice"),
            ([], {"OS_USERNAME": "bob"}, "bob"),
            ([], {"OS_USERNAME": "bob", "CLOUDCONSOLE_PROFILE": "a"}, "alice"),
            ([], {"CLOUDCONSOLE_USERNAME": "carol", "CLOUDCONSOLE_PROFILE": "a"}, "carol"),
            (["--profile", "a"], {"CLOUDCONSOLE_USERNAME": "carol"}, "alice"),
            (["--profile", "a", "--username", "dave"], {"CLOUDCONSOLE_USERNAME": "carol"}, "dave"),
        ],
    )
    def test_profile_precedence_depends_on_how_it_is_selected(
        self, cli_user: CliUser, arguments: list[str], variables: dict[str, str], username: str
    ) -> None:
        cli_user.write_profiles('default = "a"\n[profiles.a]\nurl = "http://127.0.0.1:1"\nusername = "alice"\n')
        shown = cli_user.run("whoami", "--output", "json", *arguments, **variables)
        assert (shown.code, json.loads(shown.out)["username"]) == (1, username)

    def test_unknown_profile_is_rejected_with_the_available_ones(self, cli_user: CliUser) -> None:
        cli_user.write_profiles("[profiles.work]\n[profiles.home]\n")
        done = cli_user.run("usage", "--profile", "wrok")
        assert done.code == 2
        assert f"no profile 'wrok' in {cli_user.profiles_file}; available: work, home" in done.err


def read_password(file: Path) -> object:
    password = in_file("--password-file", file)
    assert password
    return password.read()


@pytest.mark.parametrize("read", [read_profiles, read_password])
class TestPermissions:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        file = tmp_path / "a file"
        file.write_text("# also good as TOML\n")
        return file

    @pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
    def test_file_writable_by_others_is_rejected_with_a_fix(self, file: Path, read: Read, mode: int) -> None:
        file.chmod(mode)
        with pytest.raises(UsageError) as rejected:
            read(file)
        message, command = str(rejected.value).split("fix it with: ")
        assert message.startswith(f"{file}: ")
        subprocess.run(shlex.split(command), check=True, timeout=300)
        assert read(file)

    def test_a_file_that_others_can_only_read_is_accepted(self, file: Path, read: Read) -> None:
        file.chmod(0o644)
        assert read(file)

    def test_a_file_that_another_user_owns_is_rejected(
        self, file: Path, read: Read, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chown_to_other_user(file, monkeypatch)
        with pytest.raises(UsageError, match=f"owned by another user; .*: chown {os.geteuid()} "):
            read(file)


def test_a_password_may_come_through_a_pipe() -> None:
    read_end, write_end = os.pipe()
    os.fchmod(read_end, 0o622)
    os.write(write_end, b"secret\n")
    os.close(write_end)
    try:
        assert read_password(Path(f"/dev/fd/{read_end}")) == "secret"
    finally:
        os.close(read_end)

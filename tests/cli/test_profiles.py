"""Profiles: the allowed keys, and validation that reports all errors at once."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cloudconsole.cli.config import Profile, Profiles, read_profiles
from cloudconsole.cli.errors import UsageError
from tests.cli.users import CliUser
from tests.harness import RunningServer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def errors_in(file: Path, text: str | bytes) -> list[str]:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as rejected:
        read_profiles(file)
    return [line.removeprefix(str(file)) for line in str(rejected.value).splitlines()]


def test_missing_file_means_no_profiles(file: Path) -> None:
    assert read_profiles(file) == Profiles(file)


def test_profile_with_every_key(file: Path) -> None:
    file.write_text(
        'default = "work"\n'
        "[profiles.work]\n"
        'url = "HTTPS://Console.Example.com:8443/"\n'
        'region = "https://identity.example.com/v3"\n'
        'username = "alice"\n'
        'password_file = "secret"\n'
        'ca_file = "/etc/ca.pem"\n'
        'output = "csv"\n'
        'language = "zh"\n'
        "[profiles.empty]\n"
    )
    work = Profile(
        "work",
        "https://console.example.com:8443",
        "https://identity.example.com/v3",
        "alice",
        file.parent / "secret",
        Path("/etc/ca.pem"),
        "csv",
        "zh",
    )
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
        ("[profiles.a]\noutput = 'xml'", ":2: profiles.a.output: must be one of table, json, csv"),
        ("[profiles.a]\nlanguage = 'fr'", ":2: profiles.a.language: must be one of en, zh"),
        ("[profiles.a]\npassword = 'p4ss'", ":2: profiles.a.password: passwords are not allowed in this file"),
        ("[profiles.a]\nusername = 'x'\npassword_file = 'p'", ":3: profiles.a.password_file: belongs to one account"),
        ("[profiles.a]\nurl = 'http://h'\npassword_file = 'p'", ":3: profiles.a.password_file: belongs to one account"),
        # A null byte in a path would make Python raise ValueError.
        ('[profiles.a]\nca_file = "a\\u0000b"', ":2: profiles.a.ca_file: must be a non-empty string"),
        ("profiles = {a = {url = 1}}", ": profiles.a.url: must be a non-empty string"),
        ("[profiles", ": invalid TOML: "),
        (b"\xff", ": not valid UTF-8"),
    ],
)
def test_error_names_its_line_and_key(file: Path, text: str | bytes, message: str) -> None:
    (line,) = errors_in(file, text)
    assert line.startswith(message)
    assert "p4ss" not in line


def test_all_errors_are_reported_at_once(file: Path) -> None:
    lines = errors_in(file, 'default = "z"\nx = 1\n[profiles.a]\nurl = 1\n[profiles.b]\nurl = 2\n')
    assert [line.split(": ")[:2] for line in lines] == [
        [":2", "x"],
        [":4", "profiles.a.url"],
        [":6", "profiles.b.url"],
        [":1", "default"],
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [(Path.mkdir, "Is a directory"), (os.mkfifo, "not a regular file")],
)
def test_unreadable_file_is_rejected(file: Path, make: Callable[[Path], None], message: str) -> None:
    make(file)
    with pytest.raises(UsageError, match=message):
        read_profiles(file)


def test_command_reports_an_invalid_profile_and_exits(cli_user: CliUser, server: RunningServer) -> None:
    cli_user.write_profiles("[profiles.a]\nusrname = 'x'\n")
    done = cli_user.run("usage", "--url", server.base, "--username", "demo")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cloudconsole: {cli_user.profiles_file}:2: profiles.a.usrname: ")


@pytest.mark.parametrize(
    ("arguments", "variables"), [(["--profile", "b"], {}), ([], {"CLOUDCONSOLE_PROFILE": "b"}), ([], {})]
)
def test_profile_with_a_password_file_logs_in(
    cli_user: CliUser, server: RunningServer, arguments: list[str], variables: dict[str, str]
) -> None:
    (cli_user.home / "secret").write_text("console-other\n")
    cli_user.write_profiles(
        f'default = "{"a" if arguments or variables else "b"}"\n[profiles.a]\nurl = "http://127.0.0.1:1"\n'
        f'[profiles.b]\nurl = "{server.base}"\nusername = "other"\npassword_file = "../../secret"\noutput = "json"\n'
    )
    assert cli_user.json("usage", *arguments, **variables)["maxTotalInstances"] == 8
    assert cli_user.json("whoami", *arguments, **variables) == {
        "profile": "b",
        "url": server.base,
        "username": "other",
        "region": None,
        "session": "live",
    }


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
    cli_user: CliUser, arguments: list[str], variables: dict[str, str], username: str
) -> None:
    cli_user.write_profiles('default = "a"\n[profiles.a]\nurl = "http://127.0.0.1:1"\nusername = "alice"\n')
    shown = cli_user.run("whoami", "--output", "json", *arguments, **variables)
    assert (shown.code, json.loads(shown.out)["username"]) == (1, username)


def test_unknown_profile_is_rejected_with_the_available_ones(cli_user: CliUser) -> None:
    cli_user.write_profiles("[profiles.work]\n[profiles.home]\n")
    done = cli_user.run("usage", "--profile", "wrok")
    assert done.code == 2
    assert f"no profile 'wrok' in {cli_user.profiles_file}; available: work, home" in done.err

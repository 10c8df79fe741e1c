"""Profiles: what they may say, and how all that is wrong with them is told at once."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cloudconsole.cli.config import Profile, Profiles, read_profiles
from cloudconsole.cli.errors import UsageError
from tests.cli.users import Person
from tests.harness import RunningServer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def refusal(file: Path, text: str | bytes) -> list[str]:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as refused:
        read_profiles(file)
    return [line.removeprefix(str(file)) for line in str(refused.value).splitlines()]


def test_no_file_is_no_profile(file: Path) -> None:
    assert read_profiles(file) == Profiles(file)


def test_everything_that_a_profile_may_say(file: Path) -> None:
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
    ("text", "told"),
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
        # Such a path would be an error of Python's.
        ('[profiles.a]\nca_file = "a\\u0000b"', ":2: profiles.a.ca_file: must be a non-empty string"),
        ("profiles = {a = {url = 1}}", ": profiles.a.url: must be a non-empty string"),
        ("[profiles", ": invalid TOML: "),
        (b"\xff", ": not valid UTF-8"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(file: Path, text: str | bytes, told: str) -> None:
    (line,) = refusal(file, text)
    assert line.startswith(told)
    assert "p4ss" not in line


def test_all_that_is_wrong_is_told_at_once(file: Path) -> None:
    lines = refusal(file, 'default = "z"\nx = 1\n[profiles.a]\nurl = 1\n[profiles.b]\nurl = 2\n')
    assert [line.split(": ")[:2] for line in lines] == [
        [":2", "x"],
        [":4", "profiles.a.url"],
        [":6", "profiles.b.url"],
        [":1", "default"],
    ]


@pytest.mark.parametrize(
    ("make", "told"),
    [(Path.mkdir, "Is a directory"), (os.mkfifo, "not a regular file")],
)
def test_a_file_that_cannot_be_read_is_told(file: Path, make: Callable[[Path], None], told: str) -> None:
    make(file)
    with pytest.raises(UsageError, match=told):
        read_profiles(file)


def test_a_command_tells_it_and_does_nothing(person: Person, server: RunningServer) -> None:
    person.has_profiles("[profiles.a]\nusrname = 'x'\n")
    done = person.run("usage", "--url", server.base, "--username", "demo")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cloudconsole: {person.profiles_file}:2: profiles.a.usrname: ")


@pytest.mark.parametrize(
    ("arguments", "variables"), [(["--profile", "b"], {}), ([], {"CLOUDCONSOLE_PROFILE": "b"}), ([], {})]
)
def test_a_profile_logs_in_by_itself(
    person: Person, server: RunningServer, arguments: list[str], variables: dict[str, str]
) -> None:
    (person.folder / "secret").write_text("console-other\n")
    person.has_profiles(
        f'default = "{"a" if arguments or variables else "b"}"\n[profiles.a]\nurl = "http://127.0.0.1:1"\n'
        f'[profiles.b]\nurl = "{server.base}"\nusername = "other"\npassword_file = "../../secret"\noutput = "json"\n'
    )
    assert person.json("usage", *arguments, **variables)["maxTotalInstances"] == 8
    assert person.json("whoami", *arguments, **variables) == {
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
def test_a_profile_counts_where_it_is_named(
    person: Person, arguments: list[str], variables: dict[str, str], username: str
) -> None:
    person.has_profiles('default = "a"\n[profiles.a]\nurl = "http://127.0.0.1:1"\nusername = "alice"\n')
    shown = person.run("whoami", "--output", "json", *arguments, **variables)
    assert (shown.code, json.loads(shown.out)["username"]) == (1, username)


def test_a_profile_that_is_not_there_is_told_with_those_that_are(person: Person) -> None:
    person.has_profiles("[profiles.work]\n[profiles.home]\n")
    done = person.run("usage", "--profile", "wrok")
    assert done.code == 2
    assert f"no profile 'wrok' in {person.profiles_file}; available: work, home" in done.err

"""`profile`: changes keep what else the file has, and are rejected rather than made wrong."""

import stat
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.profile_edits import add_profile, remove_profile, set_default
from tests.cli.users import CliUser
from tests.harness import RunningServer

TEXT = """\
# mine
default = "a"  # the usual one

[profiles.a]
url = "http://a"  # first
# inside a

# about b
[ profiles . "b" ]
url = "http://b"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(TEXT)
    return file


class TestEdits:
    def test_added_profile_is_appended(self, file: Path) -> None:
        add_profile(file, "c", {"url": "http://c", "username": 'a "b" \\ 云'})
        assert file.read_text() == f'{TEXT}\n[profiles.c]\nurl = "http://c"\nusername = "a \\"b\\" \\\\ 云"\n'

    def test_default_is_replaced_in_place(self, file: Path) -> None:
        set_default(file, "b")
        assert file.read_text() == TEXT.replace('"a"  # the usual one', '"b"')

    def test_missing_default_is_added_first(self, file: Path) -> None:
        file.write_text("[profiles.a]\n")
        set_default(file, "a")
        assert file.read_text() == 'default = "a"\n\n[profiles.a]\n'

    def test_removed_default_profile_takes_the_default_along(self, file: Path) -> None:
        assert remove_profile(file, "a")
        assert file.read_text() == '# mine\n\n# about b\n[ profiles . "b" ]\nurl = "http://b"\n'

    def test_last_table_is_removed(self, file: Path) -> None:
        assert not remove_profile(file, "b")
        assert tomllib.loads(file.read_text()) == {"default": "a", "profiles": {"a": {"url": "http://a"}}}

    @pytest.mark.parametrize(
        "text",
        [
            'profiles = { a = { url = "http://a" } }\n',
            '[profiles]\na.url = "http://a"\n',
            '[profiles]\n[profiles.a]\nurl = """\nhttp://a"""\n',
        ],
    )
    def test_unusual_layout_is_not_changed(self, file: Path, text: str) -> None:
        file.write_text(text)
        with pytest.raises(UsageError, match=r"edit it by hand|must be a URL"):
            remove_profile(file, "a")
        assert file.read_text() == text

    def test_edits_at_the_same_time_lose_nothing(self, file: Path) -> None:
        start = threading.Barrier(8)

        def add(number: int) -> None:
            start.wait()
            for each in range(5):
                add_profile(file, f"p{number}-{each}", {"url": "http://p"})

        with ThreadPoolExecutor(start.parties) as pool:
            list(pool.map(add, range(start.parties)))
        added = {f"p{number}-{each}" for number in range(start.parties) for each in range(5)}
        assert tomllib.loads(file.read_text())["profiles"].keys() == {"a", "b"} | added

    def test_profile_that_another_command_has_removed_stays_removed(self, file: Path) -> None:
        remove_profile(file, "b")
        text = file.read_text()
        assert not remove_profile(file, "b")
        assert file.read_text() == text

    def test_file_keeps_its_mode_and_link(self, file: Path, tmp_path: Path) -> None:
        file.chmod(0o640)
        link = tmp_path / "link.toml"
        link.symlink_to(file)
        set_default(link, "b")
        assert link.is_symlink()
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert tomllib.loads(file.read_text())["default"] == "b"


def test_profile_is_added_selected_and_removed(cli_user: CliUser, server: RunningServer) -> None:
    (cli_user.home / "secret").write_text("console-other\n")
    (cli_user.home / "secret").chmod(0o600)
    account = ("--url", f"{server.base}/", "--username", "other", "--password-file", "secret")
    assert cli_user.run("profile", "add", "work", *account, "-o", "json").code == 0
    assert stat.S_IMODE(cli_user.profiles_file.stat().st_mode) == 0o600
    assert cli_user.run("urls").err.startswith("cloudconsole: no console URL")
    assert cli_user.run("profile", "use", "work") == (0, "commands use profile work by default\n", "")
    assert cli_user.json("usage")["maxTotalInstances"] == 8
    (listed,) = cli_user.json("profile", "list", "-o", "json")
    assert listed == {
        "name": "work",
        "default": True,
        "url": server.base,
        "username": "other",
        "region": None,
        "project": None,
    }
    shown = cli_user.json("profile", "show", "-o", "json")
    assert (shown["name"], shown["password_file"], shown["output"]) == ("work", str(cli_user.home / "secret"), "json")
    assert f"\nwork\t是\t{server.base}\tother\t\t\n" in cli_user.run("--lang", "zh", "profile", "list").out
    assert cli_user.run("profile", "remove", "work").out.endswith("; there is no default profile now\n")
    assert cli_user.run("profile", "list").out.splitlines() == ["name\tdefault\tURL\tusername\tregion\tproject"]


def test_show_follows_the_variable(cli_user: CliUser) -> None:
    cli_user.write_profiles(TEXT)
    assert cli_user.json("profile", "show", "-o", "json", CLOUDCONSOLE_PROFILE="b")["url"] == "http://b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: VERB"),
        (("copy",), "argument VERB: invalid choice: 'copy'"),
        (("list", "a"), "unexpected argument: a"),
        (("list", "--output", "xml"), "argument -o/--output: invalid choice: 'xml'"),
        (("show", "z"), "no profile 'z' in "),
        (("use",), "name a profile"),
        (("use", "a", "--columns", "name"), "--query and --columns are for list and show only"),
        (("remove", "a", "--query", "name"), "--query and --columns are for list and show only"),
        (("use", "z"), "no profile 'z' in "),
        (("use", "a", "--url", "http://z"), "account options are for profile add only"),
        (("remove", "z"), "no profile 'z' in "),
        (("add", "z"), "profile add requires --url"),
        (("add", "z", "--url", "z"), "argument --url: must be a URL"),
        (("add", "a", "--url", "http://z"), "profile 'a' already exists in "),
        (("add", " ", "--url", "http://z"), "a profile's name must have visible characters only"),
        (("add", "z\t", "--url", "http://z"), "a profile's name must have visible characters only"),
        (
            ("add", "z", "--url", "http://z", "--username", "z", "--password-file", "-"),
            "a profile cannot have the stand",
        ),
        (("add", "z", "--url", "http://z", "--password-file", "f"), "--password-file belongs to one account"),
        (("add", "z", "--url", "http://z", "--username", " "), "{file}:14: profiles.z.username: must be a non-empty"),
        (("add", "z", "--url", "http://z", "--password", "s3cret"), "unknown option --password"),
    ],
)
def test_invalid_change_is_rejected(cli_user: CliUser, arguments: tuple[str, ...], message: str) -> None:
    cli_user.write_profiles(TEXT)
    done = cli_user.run("profile", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cloudconsole: {message.format(file=cli_user.profiles_file)}")
    assert cli_user.profiles_file.read_text() == TEXT


def test_first_profile_is_not_named_yet(cli_user: CliUser) -> None:
    done = cli_user.run("profile", "use", "work")
    assert done.err.endswith("config.toml has none; add one with cloudconsole profile add\n")


def test_no_selected_profile_is_shown(cli_user: CliUser) -> None:
    assert cli_user.run("profile", "show").err.startswith("cloudconsole: no profile is selected")


def test_unwritable_directory_is_reported(cli_user: CliUser) -> None:
    (cli_user.home / "config").write_text("in the way")
    done = cli_user.run("profile", "add", "a", "--url", "http://a")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"cloudconsole: {cli_user.profiles_file}: Not a directory\n"

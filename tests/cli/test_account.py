"""Which account is meant, and that no password goes to a console or user that it was not given for."""

from typing import Any

import pytest

from cloudconsole.cli.account import Account, Source, choose_account
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.passwords import PasswordSource

HERE, THERE = "http://here.example", "http://there.example"


def source(name: str, url: str | None = None, username: str | None = None, **more: Any) -> Source:
    if more.pop("password", False):
        more["password"] = PasswordSource(name, lambda: f"password of {name}")
    return Source(name, url=url, username=username, **more)


def flags(url: str | None = None, username: str | None = None, **more: Any) -> Source:
    return source("flags", url, username, is_command_line=True, **more)


def openstack(username: str | None = None, **more: Any) -> Source:
    return source("OS", None, username, is_foreign=True, **more)


def ours(url: str | None = None, username: str | None = None, **more: Any) -> Source:
    return source("ours", url, username, **more)


def profile(url: str | None = None, username: str | None = None, **more: Any) -> Source:
    return source("profile", url, username, **more)


def last(url: str = HERE, username: str = "last", **more: Any) -> Source:
    return source("last", url, username, **more)


def account(*sources: Source, last_login: Source | None = None) -> tuple[str, str | None, str | None, str | None]:
    """Address, user, region, and where the password comes from."""
    found = choose_account(sources, last_login)
    return found.url, found.username, found.region, found.password.place if found.password else None


def test_what_comes_first_goes_before_the_rest() -> None:
    in_order = [flags(HERE, "f"), ours(HERE, "v"), openstack("o"), profile(HERE, "p")]
    for number, username in enumerate("fvop"):
        sources = [flags(HERE), *in_order[number:]]
        assert account(*sources, last_login=last())[1] == username


def test_the_last_login_is_enough() -> None:
    assert account(flags(), ours(), openstack(), last_login=last(region="r")) == (HERE, "last", "r", None)


def test_no_console_at_all_is_told() -> None:
    with pytest.raises(UsageError, match="no console URL"):
        choose_account([flags(username="f"), openstack("o")], None)


@pytest.mark.parametrize("lower", [profile(HERE, "alice", region="r", password=True), last(HERE, "alice", region="r")])
def test_what_names_another_console_is_passed_over(lower: Source) -> None:
    is_last = lower.name == "last"
    found = account(flags(THERE), *([] if is_last else [lower]), last_login=lower if is_last else None)
    assert found == (THERE, None, None, None)


def test_what_names_another_user_gives_neither_region_nor_password() -> None:
    found = account(flags(username="bob"), profile(HERE, "alice", region="r", password=True))
    assert found == (HERE, "bob", None, None)


def test_a_profile_is_whole() -> None:
    assert account(flags(), profile(HERE, "alice", region="r", password=True)) == (HERE, "alice", "r", "profile")


@pytest.mark.parametrize(
    ("sources", "place"),
    [
        # The variables' own account, and whatever the call itself adds to a bare password.
        ([flags(), ours(HERE, "bob", password=True)], "ours"),
        ([flags(HERE, "bob"), ours(password=True)], "ours"),
        ([flags(HERE), ours(username="bob", password=True)], "ours"),
        ([flags(HERE, "bob"), ours(HERE, "bob", password=True)], "ours"),
        # A bare one is for the profile's account: it names no other.
        ([flags(), ours(password=True), profile(HERE, "alice")], "ours"),
        ([flags(), ours(username="bob", password=True), profile(HERE)], "ours"),
        # It names another user, or another console, than is meant.
        ([flags(HERE, "alice"), ours(username="bob", password=True)], None),
        ([flags(HERE, "bob"), ours(THERE, "bob", password=True)], None),
        ([flags(HERE, "bob", region="r"), ours(HERE, "bob", region="s", password=True)], None),
        # The console is a profile's with another user: nothing says that the password is for there.
        ([flags(), ours(username="bob", password=True), profile(HERE, "alice")], None),
        ([flags(username="bob"), ours(username="bob", password=True), profile(HERE, "alice")], None),
        # Given with this very call, it is meant for it.
        ([flags(username="bob", password=True), profile(HERE, "alice")], "flags"),
        ([flags(HERE, "bob", password=True), ours(HERE, "bob", password=True)], "flags"),
    ],
)
def test_a_password_goes_only_where_it_is_meant_for(sources: list[Source], place: str | None) -> None:
    assert account(*sources)[3] == place


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ([flags(HERE), openstack("bob", region="r", password=True)], (HERE, "bob", "r", "OS")),
        ([flags(), openstack("bob", region="r", password=True), profile(HERE)], (HERE, "bob", "r", "OS")),
        ([flags(HERE, "alice"), openstack("bob", region="r", password=True)], (HERE, "alice", None, None)),
        ([flags(HERE, region="s"), openstack("bob", region="r", password=True)], (HERE, "bob", "s", None)),
        ([flags(HERE, "bob"), openstack(region="r", password=True)], (HERE, "bob", None, None)),
        ([flags(HERE, "bob"), openstack("bob", region="r", password=True)], (HERE, "bob", None, None)),
        ([flags(), openstack("bob", password=True), profile(HERE, "alice")], (HERE, "bob", None, None)),
        ([flags(), openstack("bob", region="r", password=True), profile(HERE, "alice")], (HERE, "bob", "r", None)),
        # A default profile that names its user: no password of another cloud's user of the same name.
        ([flags(), openstack("bob", region="r", password=True), profile(HERE, "bob")], (HERE, "bob", None, None)),
        ([flags(), openstack("bob", password=True), profile(HERE, "bob")], (HERE, "bob", None, None)),
        ([flags(), openstack(region="r", password=True), profile(HERE, "bob")], (HERE, "bob", None, None)),
        (
            [flags(), openstack("bob", region="r", password=True), profile(HERE, "bob", region="r")],
            (HERE, "bob", "r", "OS"),
        ),
    ],
)
def test_openstack_s_variables_are_one_account(sources: list[Source], found: object) -> None:
    assert account(*sources) == found


@pytest.mark.parametrize("username", [None, "bob", "alice"])
@pytest.mark.parametrize("region", [None, "mine"])
def test_openstack_s_variables_do_not_change_who_logged_in_last(username: str | None, region: str | None) -> None:
    others = openstack(username, region="r", password=True)
    logged_in = last(HERE, "alice", region=region)
    assert account(flags(), others, last_login=logged_in) == (HERE, "alice", region, None)


@pytest.mark.parametrize(
    ("sources", "region"),
    [
        ([flags(region="f"), profile(HERE, "alice")], "f"),
        ([flags(), ours(region="v"), profile(HERE, "alice")], "v"),
        # Named by a flag, the profile comes first.
        ([flags(), profile(HERE, "alice"), ours(region="v")], None),
        ([flags(), ours(HERE, "alice"), profile(HERE, "alice", region="p")], None),
        # A call that is typed takes what fits from the rest.
        ([flags(HERE, "alice"), ours(region="v")], "v"),
        ([flags(HERE, "alice"), profile(HERE, "alice", region="p")], "p"),
    ],
)
def test_where_console_and_user_stand_together_only_what_comes_before_says_the_region(
    sources: list[Source], region: str | None
) -> None:
    assert account(*sources)[2] == region


def test_they_log_the_same_account_in_again() -> None:
    others = openstack("bob", region="r", password=True)
    assert account(flags(), others, last_login=last(HERE, "bob", region="r")) == (HERE, "bob", "r", "OS")


def test_what_was_passed_over_can_be_told() -> None:
    found: Account = choose_account([flags(HERE, "alice"), ours(username="bob", password=True)], None)
    assert found.ignored_passwords == ("ours",)
    assert found.source_names == {"url": "flags", "username": "flags"}

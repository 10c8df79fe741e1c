"""Account selection; a password is never sent to another console or user than it was given for."""

from functools import partial
from typing import Any

import pytest

from cloudconsole.cli.account_selection import Account, Source, choose_account
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.passwords import PasswordSource

HERE, THERE = "http://here.example", "http://there.example"


def source(name: str, url: str | None = None, username: str | None = None, **more: Any) -> Source:
    if more.pop("password", False):
        more["password"] = PasswordSource(name, lambda: f"password of {name}")
    return Source(name, url=url, username=username, **more)


flags = partial(source, "flags", is_command_line=True)
openstack = partial(source, "OS", None, is_foreign=True)
environment = partial(source, "ours")
profile = partial(source, "profile")
last = partial(source, "last")


def account(*sources: Source, last_login: Source | None = None) -> tuple[str, str | None, str | None, str | None]:
    """URL, user, region, and the source of the password."""
    found = choose_account(sources, last_login)
    return found.url, found.username, found.region, found.password.place if found.password else None


def test_earlier_sources_take_precedence() -> None:
    by_precedence = [flags(HERE, "f"), environment(HERE, "v"), openstack("o"), profile(HERE, "p")]
    for number, username in enumerate("fvop"):
        sources = [flags(HERE), *by_precedence[number:]]
        assert account(*sources, last_login=last(HERE, "last"))[1] == username


def test_missing_console_url_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no console URL"):
        choose_account([flags(username="f"), openstack("o")], None)


OPENSTACK = openstack("bob", region="r", password=True)


@pytest.mark.parametrize(
    ("sources", "last_login", "found"),
    [
        ([flags(), environment(), openstack()], last(HERE, "last", region="r"), (HERE, "last", "r", None)),
        ([flags(), profile(HERE, "alice", region="r", password=True)], None, (HERE, "alice", "r", "profile")),
        # A source with another console is ignored; one with another user gives no region or password.
        ([flags(THERE), profile(HERE, "alice", region="r", password=True)], None, (THERE, None, None, None)),
        ([flags(THERE)], last(HERE, "alice", region="r"), (THERE, None, None, None)),
        ([flags(username="bob"), profile(HERE, "alice", region="r", password=True)], None, (HERE, "bob", None, None)),
        # OpenStack's variables are one account.
        ([flags(HERE), OPENSTACK], None, (HERE, "bob", "r", "OS")),
        ([flags(), OPENSTACK, profile(HERE)], None, (HERE, "bob", "r", "OS")),
        ([flags(HERE, "alice"), OPENSTACK], None, (HERE, "alice", None, None)),
        ([flags(HERE, region="s"), OPENSTACK], None, (HERE, "bob", "s", None)),
        ([flags(HERE, "bob"), openstack(region="r", password=True)], None, (HERE, "bob", None, None)),
        ([flags(HERE, "bob"), OPENSTACK], None, (HERE, "bob", None, None)),
        ([flags(), openstack("bob", password=True), profile(HERE, "alice")], None, (HERE, "bob", None, None)),
        ([flags(), OPENSTACK, profile(HERE, "alice")], None, (HERE, "bob", "r", None)),
        # A default profile names its user: a user of the same name in another cloud may have another password.
        ([flags(), OPENSTACK, profile(HERE, "bob")], None, (HERE, "bob", None, None)),
        ([flags(), openstack("bob", password=True), profile(HERE, "bob")], None, (HERE, "bob", None, None)),
        ([flags(), openstack(region="r", password=True), profile(HERE, "bob")], None, (HERE, "bob", None, None)),
        ([flags(), OPENSTACK, profile(HERE, "bob", region="r")], None, (HERE, "bob", "r", "OS")),
        # They do not override the last login, but renew the same account.
        ([flags(), openstack(region="r", password=True)], last(HERE, "alice"), (HERE, "alice", None, None)),
        ([flags(), OPENSTACK], last(HERE, "alice", region="mine"), (HERE, "alice", "mine", None)),
        ([flags(), OPENSTACK], last(HERE, "bob"), (HERE, "bob", None, None)),
        ([flags(), OPENSTACK], last(HERE, "bob", region="r"), (HERE, "bob", "r", "OS")),
    ],
)
def test_sources_of_another_account_are_not_mixed(
    sources: list[Source], last_login: Source | None, found: object
) -> None:
    assert account(*sources, last_login=last_login) == found


@pytest.mark.parametrize(
    ("sources", "place"),
    [
        # An account from variables, or a bare password completed by flags.
        ([flags(), environment(HERE, "bob", password=True)], "ours"),
        ([flags(HERE, "bob"), environment(password=True)], "ours"),
        ([flags(HERE), environment(username="bob", password=True)], "ours"),
        ([flags(HERE, "bob"), environment(HERE, "bob", password=True)], "ours"),
        # A bare password applies to the profile's account.
        ([flags(), environment(password=True), profile(HERE, "alice")], "ours"),
        ([flags(), environment(username="bob", password=True), profile(HERE)], "ours"),
        # The password belongs to another user, console or region.
        ([flags(HERE, "alice"), environment(username="bob", password=True)], None),
        ([flags(HERE, "bob"), environment(THERE, "bob", password=True)], None),
        ([flags(HERE, "bob", region="r"), environment(HERE, "bob", region="s", password=True)], None),
        # The profile names another user, so the password may not be meant for its console.
        ([flags(), environment(username="bob", password=True), profile(HERE, "alice")], None),
        ([flags(username="bob"), environment(username="bob", password=True), profile(HERE, "alice")], None),
        # A password from flags always applies.
        ([flags(username="bob", password=True), profile(HERE, "alice")], "flags"),
        ([flags(HERE, "bob", password=True), environment(HERE, "bob", password=True)], "flags"),
    ],
)
def test_password_is_used_only_for_its_own_account(sources: list[Source], place: str | None) -> None:
    assert account(*sources)[3] == place


@pytest.mark.parametrize(
    ("sources", "region"),
    [
        ([flags(region="f"), profile(HERE, "alice")], "f"),
        ([flags(), environment(region="v"), profile(HERE, "alice")], "v"),
        # A profile selected by a flag comes first.
        ([flags(), profile(HERE, "alice"), environment(region="v")], None),
        ([flags(), environment(HERE, "alice"), profile(HERE, "alice", region="p")], None),
        # With an account from flags, matching sources may add the region.
        ([flags(HERE, "alice"), environment(region="v")], "v"),
        ([flags(HERE, "alice"), profile(HERE, "alice", region="p")], "p"),
    ],
)
def test_region_source_depends_on_where_the_account_is_named(sources: list[Source], region: str | None) -> None:
    assert account(*sources)[2] == region


def test_ignored_passwords_are_listed() -> None:
    found: Account = choose_account([flags(HERE, "alice"), environment(username="bob", password=True)], None)
    assert found.ignored_passwords == ("ours",)
    assert found.source_names == {"url": "flags", "username": "flags"}

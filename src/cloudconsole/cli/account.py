"""Which console and account a call is meant for, of all places that may say so.

Flags go before variables, ours before OpenStack's, these before the file's default profile, and all before the last
login. A profile that is named counts where it is named: by a flag as flags, by a variable as variables. What stands
together belongs together: a place that names another console is passed over, and one that names another user gives
neither region nor password. Where one place names console and user, what comes after it says nothing of the region.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cloudconsole.cli import messages
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.passwords import PasswordSource


class Source(NamedTuple):
    """One place, and what stands in it."""

    name: str
    url: str | None = None
    region: str | None = None
    username: str | None = None
    password: PasswordSource | None = None
    is_by_hand: bool = False
    """Whether it was given with this very call."""
    is_of_others: bool = False
    """Whether it was set for other programs: it cannot say which console is meant."""


class Account(NamedTuple):
    url: str
    username: str | None
    region: str | None
    password: PasswordSource | None
    passed_over: tuple[str, ...]
    """Where passwords stand that are of another account, or may be."""
    said_by: dict[str, str]
    """For url, username and region, the place that it comes from."""


def choose_account(sources: Iterable[Source], last_login: Source | None) -> Account:
    in_order = [*sources, *([last_login] if last_login else [])]
    console = next((source for source in in_order if source.url), None)
    if console is None or console.url is None:
        raise UsageError(translate(messages.NO_CONSOLE))
    if console is last_login:
        # Who logged in is meant as a whole, not whoever other programs' variables name.
        in_order.sort(key=lambda source: source.is_of_others)
    of_console = [source for source in in_order if source.url in (None, console.url)]
    by_name = next((source for source in of_console if source.username), None)
    username = by_name.username if by_name else None
    of_account = [source for source in of_console if source.username in (None, username)]
    by_region = next((source for source in _heard_of_region(of_account, console, by_name) if source.region), None)
    region = by_region.region if by_region else None
    fit = [source for source in of_account if source.password and _may_send(source, console, by_name, by_region)]
    said_by = {"url": console, "username": by_name, "region": by_region}
    return Account(
        console.url,
        username,
        region,
        fit[0].password if fit else None,
        tuple(source.password.place for source in in_order if source.password and source not in fit),
        {name: source.name for name, source in said_by.items() if source},
    )


def _heard_of_region(of_account: list[Source], console: Source, by_name: Source | None) -> list[Source]:
    """Who may say the region: up to the place that names console and user, whose own is final, be it none."""
    is_whole = console in of_account and console.username is not None and not console.is_by_hand
    heard = of_account[: of_account.index(console) + 1] if is_whole else of_account
    # Other programs' variables say it only for the user whom they alone name.
    return [source for source in heard if not source.is_of_others or (source is by_name and not is_whole)]


def _may_send(source: Source, console: Source, by_name: Source | None, by_region: Source | None) -> bool:
    """Whether a password is surely meant for this console and user."""
    if source.is_by_hand:
        return True
    region = by_region.region if by_region else None
    if source.region not in (None, region):
        return False
    if source.is_of_others:
        # For the account that these variables themselves name, or one that is the same to the last word.
        is_same = source.region is not None and source.username == console.username
        return is_same if console.username else source is by_name
    # One that does not say for which console goes to none that is named together with another user.
    return source.url is not None or console.username in (None, by_name.username if by_name else None)

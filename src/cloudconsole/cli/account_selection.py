"""Choose the console and account of a call from all configuration sources.

Precedence, highest first: flags, CLOUDCONSOLE_ variables, OpenStack's variables, the default profile, the last login. A
profile selected by a flag or a variable ranks directly after that source. Values of one source belong together: a
source with another console is ignored, and one with another user contributes neither region, project nor password.
After a source that sets both console and user, later sources cannot set region and project.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cloudconsole.cli import messages
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.passwords import PasswordSource


class Source(NamedTuple):
    """One configuration source and its values."""

    name: str
    url: str | None = None
    region: str | None = None
    username: str | None = None
    password: PasswordSource | None = None
    is_command_line: bool = False
    """Whether it comes from this call's command line."""
    is_foreign: bool = False
    """Whether it is set for other programs, so it cannot select the console."""
    project: str | None = None


class Account(NamedTuple):
    url: str
    username: str | None
    region: str | None
    password: PasswordSource | None
    ignored_passwords: tuple[str, ...]
    """Sources of passwords that do, or may, belong to another account."""
    source_names: dict[str, str]
    """The name of the source of `url`, `username`, `region` and `project`."""
    project: str | None = None


class NoConsole(UsageError):
    """No source selects a console."""


def choose_account(sources: Iterable[Source], last_login: Source | None) -> Account:
    in_order = [*sources, *([last_login] if last_login else [])]
    console = next((source for source in in_order if source.url), None)
    if console is None or console.url is None:
        raise NoConsole(translate(messages.NO_CONSOLE))
    if console is last_login:
        # The last login selects the whole account; other programs' variables must not replace its user.
        in_order.sort(key=lambda source: source.is_foreign)
    for_console = [source for source in in_order if source.url in (None, console.url)]
    user_source = next((source for source in for_console if source.username), None)
    username = user_source.username if user_source else None
    for_account = [source for source in for_console if source.username in (None, username)]
    scope_sources = _scope_sources(for_account, console, user_source)
    region_source = next((source for source in scope_sources if source.region), None)
    project_source = next((source for source in scope_sources if source.project), None)
    region = region_source.region if region_source else None
    usable = [
        source for source in for_account if source.password and _may_send(source, console, user_source, region_source)
    ]
    source_names = {"url": console, "username": user_source, "region": region_source, "project": project_source}
    return Account(
        console.url,
        username,
        region,
        usable[0].password if usable else None,
        tuple(source.password.place for source in in_order if source.password and source not in usable),
        {name: source.name for name, source in source_names.items() if source},
        project_source.project if project_source else None,
    )


def _scope_sources(for_account: list[Source], console: Source, user_source: Source | None) -> list[Source]:
    """Return the sources that may set region and project: up to that of console and user, if there is one."""
    is_complete = console in for_account and console.username is not None and not console.is_command_line
    candidates = for_account[: for_account.index(console) + 1] if is_complete else for_account
    # Other programs' variables count only for the user that they alone name.
    return [source for source in candidates if not source.is_foreign or (source is user_source and not is_complete)]


def _may_send(source: Source, console: Source, user_source: Source | None, region_source: Source | None) -> bool:
    """Whether a password certainly belongs to this console and user."""
    if source.is_command_line:
        return True
    region = region_source.region if region_source else None
    if source.region not in (None, region):
        return False
    if source.is_foreign:
        # Only for the account that these variables name, or an identical one.
        is_same_account = source.region is not None and source.username == console.username
        return is_same_account if console.username else source is user_source
    # A password without a console is not sent to a console configured together with another user.
    return source.url is not None or console.username in (None, user_source.username if user_source else None)

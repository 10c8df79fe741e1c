"""Accounts: that an operator is there, that no password is public, and whether logins are being held back."""

from collections import Counter
from collections.abc import Iterator
from shlex import quote
from typing import Final

from sqlalchemy import func, select

from cloudconsole.core import throttle
from cloudconsole.operator.nouns.operators import has_accounts, operators_who_can_log_in
from cloudconsole.operator.sample import accounts_with_sample_passwords
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem, warning
from cloudconsole.server.doctor.store_checks import looking_at
from cloudconsole.store.activity import hash_username
from cloudconsole.store.tables import accounts, login_failures

MOST_NAMED: Final = 5

_PASSES_BY_ITSELF: Final = f"it passes by itself within {throttle.WINDOW_SECONDS} seconds"
_PASSES: Final = f"nothing, if it is an attacker: {_PASSES_BY_ITSELF}"


def check_operators(case: Case) -> Iterator[Finding]:
    with looking_at(case, "cloud") as connection:
        is_inhabited = has_accounts(connection)
        operators = connection.scalar(select(func.count()).select_from(operators_who_can_log_in().subquery()))
    if not is_inhabited:
        yield problem("there are no accounts: nobody can log in", "cloudconsole init makes the first operator")
    elif not operators:
        yield warning("no operator can log in", "add or enable one with cloudconsole admin")
    else:
        yield ok(f"{operators} can log in")


def check_sample_passwords(case: Case) -> Iterator[Finding]:
    with looking_at(case, "cloud") as connection:
        names = ", ".join(accounts_with_sample_passwords(connection))
    settings = case.settings
    mend = "change these passwords, or disable the accounts"
    if not names:
        yield ok("no account has one")
    elif settings.only_this_machine:
        yield ok(f"{names} have them, and only this machine can reach the console")
    elif settings.insecure_sample:
        yield warning(f"anyone can log in as {names}: their passwords are published, and insecure_sample is set", mend)
    else:
        yield problem(f"the passwords of {names} are published: cloudconsole serve does not start with them", mend)


def check_throttle(case: Case) -> Iterator[Finding]:
    failures = _failures(case)
    by_network: Counter[str] = Counter()
    for (network, _), number in failures.items():
        by_network[network] += number
    held = [network for network, number in by_network.items() if number >= throttle.ADDRESS_FAILURES]
    held_users = [
        (network, user_hash)
        for (network, user_hash), number in failures.items()
        if number >= throttle.USER_FAILURES and network not in held
    ]
    names = _names_of(case, {user_hash for _, user_hash in held_users})
    findings = [
        *(_held_address(network) for network in held),
        *(_held_user(names.get(user_hash), network) for network, user_hash in held_users),
    ]
    yield from findings[:MOST_NAMED]
    if len(findings) > MOST_NAMED:
        yield warning(f"and {len(findings) - MOST_NAMED} more must wait", "nothing, if these are attackers")
    if not findings:
        total, seconds = by_network.total(), throttle.WINDOW_SECONDS
        yield ok(f"{total} failed logins in the last {seconds} seconds, none held back")


def _failures(case: Case) -> dict[tuple[str, bytes], int]:
    """How many count at this moment, by network and user."""
    columns = login_failures.c
    with looking_at(case, "activity") as connection:
        rows = connection.execute(
            select(columns.network, columns.user_hash, func.count().label("number"))
            .where(columns.at > case.now - throttle.WINDOW_SECONDS, columns.at <= case.now)
            .group_by(columns.network, columns.user_hash)
            .order_by(columns.network)
        ).all()
    return {(row.network, row.user_hash): row.number for row in rows}


def _names_of(case: Case, user_hashes: set[bytes]) -> dict[bytes, str]:
    """Of those that are accounts; what else was typed as a user is kept nowhere."""
    if not user_hashes:
        return {}
    with looking_at(case, "cloud") as connection:
        names = connection.scalars(select(accounts.c.username))
        return {user_hash: name for name in names if (user_hash := hash_username(name)) in user_hashes}


def _held_user(name: str | None, network: str) -> Finding:
    if name is None:
        return warning(f"logins of an unknown user from {network} must wait after too many failures", _PASSES)
    return warning(
        f"logins of {name} from {network} must wait after too many failures",
        f"cloudconsole admin account clear-throttle {quote(name)}; or nothing: {_PASSES_BY_ITSELF}",
    )


def _held_address(network: str) -> Finding:
    return warning(
        f"all logins from {network} must wait after too many failures",
        f"{_PASSES}; if it is a proxy, declare it in proxies",
    )

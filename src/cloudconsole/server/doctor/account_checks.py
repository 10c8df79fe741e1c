"""Accounts: that an operator is there, that no password is public, and whether logins are being held back."""

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import func, select

from cloudconsole.core import throttle
from cloudconsole.operator.nouns.operators import operators_who_can_log_in
from cloudconsole.operator.sample import accounts_with_sample_passwords
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem, warning
from cloudconsole.server.doctor.store_checks import looking_at
from cloudconsole.store.tables import accounts, login_failures


def check_operators(case: Case) -> Iterator[Finding]:
    with looking_at(case, "cloud") as connection:
        any_account = connection.scalar(select(accounts.c.id).limit(1))
        operators = connection.scalar(select(func.count()).select_from(operators_who_can_log_in().subquery()))
    if any_account is None:
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
    since = case.now - throttle.WINDOW_SECONDS
    columns = login_failures.c
    with looking_at(case, "activity") as connection:
        rows = connection.execute(
            select(columns.network, func.count().label("failures"))
            .where(columns.at > since, columns.at <= case.now)
            .group_by(columns.network, columns.user_hash)
        ).all()
    by_network: Counter[str] = Counter()
    for row in rows:
        by_network[row.network] += row.failures
    held = {row.network for row in rows if row.failures >= throttle.USER_FAILURES}
    held |= {network for network, failures in by_network.items() if failures >= throttle.ADDRESS_FAILURES}
    if held:
        yield warning(
            f"logins from {', '.join(sorted(held)[:5])} must wait after too many failures",
            "nothing, if these are attackers: it passes by itself; if it is a proxy, declare it in proxies",
        )
    else:
        yield ok(
            f"{sum(by_network.values())} failed logins in the last {throttle.WINDOW_SECONDS} seconds, none held back"
        )

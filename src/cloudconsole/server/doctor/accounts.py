"""Accounts: that an operator is there, that no password is public, and whether logins are being held back."""

from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_network
from itertools import chain, count
from typing import Any, Final

from sqlalchemy import Column, Connection, Row, func, select

from cloudconsole.core import login_throttle
from cloudconsole.operator.entities.accounts import active_operators, has_accounts
from cloudconsole.operator.sample import accounts_with_sample_passwords
from cloudconsole.server.doctor.results import DoctorContext, Finding, ok, problem, quote_argument, warning
from cloudconsole.server.doctor.store import read_connection
from cloudconsole.store.activity import hash_username
from cloudconsole.store.tables import accounts, login_failures, tenants

MOST_NAMED: Final = 5

_PASSES_BY_ITSELF: Final = f"it passes by itself within {login_throttle.WINDOW_SECONDS} seconds"
_PASSES: Final = f"nothing, if it is an attacker: {_PASSES_BY_ITSELF}"


_DISABLED_OPERATORS: Final = (
    select(accounts.c.username, accounts.c.disabled, tenants.c.name, tenants.c.disabled.label("tenant_disabled"))
    .join(tenants, tenants.c.id == accounts.c.tenant_id)
    .where(accounts.c.role == "operator")
    .order_by(accounts.c.id)
)


def check_operators(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "cloud") as connection:
        is_inhabited = has_accounts(connection)
        operators = connection.scalar(select(func.count()).select_from(active_operators().subquery()))
        disabled = connection.execute(_DISABLED_OPERATORS).first()
        tenant = _unused_name(connection, tenants.c.name, "operators")
        username = _unused_name(connection, accounts.c.username, "operator")
    if not is_inhabited:
        yield problem("there are no accounts: nobody can log in", "create the first operator", case.command("init"))
    elif not operators:
        mend = _enabled(case, disabled) if disabled else _added(case, tenant, username)
        yield warning("no operator can log in", *mend)
    else:
        yield ok(f"{operators} can log in")


def _added(case: DoctorContext, tenant: str, username: str) -> tuple[str, str]:
    """Return the advice, in words and as a command, where there is no operator."""
    add = ("admin", "account", "add", username, "--tenant", tenant, "--role", "operator")
    return "add one", f"{case.command('admin', 'tenant', 'add', tenant)} && {case.command(*add)}"


def _unused_name(connection: Connection, column: Column[Any], name: str) -> str:
    taken = set(connection.scalars(select(column).where(column.startswith(name))))
    return next(each for each in chain([name], (f"{name}-{number}" for number in count(2))) if each not in taken)


def _enabled(case: DoctorContext, disabled: "Row[Any, Any, Any, Any]") -> tuple[str, str]:
    """Return the advice, in words and as a command, where an operator or its tenant is disabled."""
    commands = []
    if disabled.tenant_disabled:
        commands.append(case.command("admin", "tenant", "enable", *quote_argument(disabled.name)))
    if disabled.disabled:
        commands.append(case.command("admin", "account", "enable", *quote_argument(disabled.username)))
    return f"enable {disabled.username}, or add another one", " && ".join(commands)


def check_sample_passwords(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "cloud") as connection:
        found = accounts_with_sample_passwords(connection)
    names, settings = ", ".join(found), case.settings
    mend = "change these passwords, or disable the accounts"
    command = " && ".join(case.command("admin", "account", "password", *quote_argument(name)) for name in found)
    if not found:
        yield ok("no account has one")
    elif settings.only_this_machine:
        yield ok(f"{names} have them, and only this machine can reach the console")
    elif settings.insecure_sample:
        yield warning(
            f"anyone can log in as {names}: their passwords are published, and insecure_sample is set", mend, command
        )
    else:
        yield problem(
            f"the passwords of {names} are published: cloudconsole serve does not start with them", mend, command
        )


def check_throttle(case: DoctorContext) -> Iterator[Finding]:
    failures = _failures(case)
    by_network: Counter[str] = Counter()
    for (network, _), number in failures.items():
        by_network[network] += number
    held = _held_networks(by_network)
    held_users = [
        (network, user_hash)
        for (network, user_hash), number in failures.items()
        if number >= login_throttle.USER_FAILURES and network not in held
    ]
    names = _names_of(case, {user_hash for _, user_hash in held_users})
    findings = [
        *(_held_address(network) for network in dict.fromkeys(held.values())),
        *(_held_user(case, names.get(user_hash), _shown(network)) for network, user_hash in held_users),
    ]
    yield from findings[:MOST_NAMED]
    if len(findings) > MOST_NAMED:
        yield warning(f"and {len(findings) - MOST_NAMED} more must wait", "nothing, if these are attackers")
    if not findings:
        total, seconds = by_network.total(), login_throttle.WINDOW_SECONDS
        yield ok(f"{total} failed logins in the last {seconds} seconds, none held back")


def _held_networks(by_network: Counter[str]) -> dict[str, str]:
    """For each network whose logins all wait, the widest network around it that reached its limit."""
    held: dict[str, str] = {}
    for bits, limit in {64: login_throttle.ADDRESS_FAILURES, **login_throttle.NETWORK_FAILURES}.items():
        wider = {network: _shown(network, bits) for network in by_network}
        by_wider: Counter[str] = Counter()
        for network, number in by_network.items():
            by_wider[wider[network]] += number
        held |= {network: name for network, name in wider.items() if by_wider[name] >= limit}
    return held


def _shown(network: str, bits: int = 64) -> str:
    """An IPv6 network, or the wider one around it, as it is usually written; an IPv4 address as it is."""
    return str(ip_network(network).supernet(new_prefix=bits)) if network.endswith("/64") else network


def _failures(case: DoctorContext) -> dict[tuple[str, bytes], int]:
    """How many count at this moment, by network and user."""
    columns = login_failures.c
    with read_connection(case, "activity") as connection:
        rows = connection.execute(
            select(columns.network, columns.user_hash, func.count().label("number"))
            .where(columns.at > case.now - login_throttle.WINDOW_SECONDS, columns.at <= case.now)
            .group_by(columns.network, columns.user_hash)
            .order_by(columns.network)
        ).all()
    return {(row.network, row.user_hash): row.number for row in rows}


def _names_of(case: DoctorContext, user_hashes: set[bytes]) -> dict[bytes, str]:
    """Of those that are accounts; what else was typed as a user is kept nowhere."""
    if not user_hashes:
        return {}
    with read_connection(case, "cloud") as connection:
        names = connection.scalars(select(accounts.c.username))
        return {user_hash: name for name in names if (user_hash := hash_username(name)) in user_hashes}


def _held_user(case: DoctorContext, name: str | None, network: str) -> Finding:
    if name is None:
        return warning(f"logins of an unknown user from {network} must wait after too many failures", _PASSES)
    return warning(
        f"logins of {name} from {network} must wait after too many failures",
        f"let it log in at once, or do nothing: {_PASSES_BY_ITSELF}",
        case.command("admin", "account", "clear-throttle", *quote_argument(name)),
    )


def _held_address(network: str) -> Finding:
    return warning(
        f"all logins from {network} must wait after too many failures",
        f"{_PASSES}; if it is a proxy, declare it in proxies",
    )

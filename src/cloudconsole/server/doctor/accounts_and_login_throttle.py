"""Checks of accounts: operators, sample passwords, login throttle."""

from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_network
from itertools import chain, count
from typing import Any, Final

from sqlalchemy import Column, Connection, Row, func, select

from cloudconsole.core import login_throttle
from cloudconsole.operator.entities.accounts import active_operators, has_accounts
from cloudconsole.operator.sample import accounts_with_sample_passwords
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, quote_argument, warning
from cloudconsole.server.doctor.store import read_connection
from cloudconsole.store.activity_writes import hash_username
from cloudconsole.store.tables import accounts, login_failures, tenants

MAX_LISTED: Final = 5

_EXPIRES: Final = f"the throttle ends by itself within {login_throttle.WINDOW_SECONDS} seconds"
_IGNORE_ATTACKER: Final = f"ignore it if this is an attack: {_EXPIRES}"
_DISABLED_OPERATORS: Final = (
    select(accounts.c.username, accounts.c.disabled, tenants.c.name, tenants.c.disabled.label("tenant_disabled"))
    .join(tenants, tenants.c.id == accounts.c.tenant_id)
    .where(accounts.c.role == "operator")
    .order_by(accounts.c.id)
)


def check_operators(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "cloud") as connection:
        accounts_exist = has_accounts(connection)
        operators = connection.scalar(select(func.count()).select_from(active_operators().subquery()))
        disabled = connection.execute(_DISABLED_OPERATORS).first()
        tenant = _unused_name(connection, tenants.c.name, "operators")
        username = _unused_name(connection, accounts.c.username, "operator")
    if not accounts_exist:
        yield problem("no accounts: login is impossible", "create the first operator", case.command("init"))
    elif not operators:
        fix = _enable_fix(case, disabled) if disabled else _add_fix(case, tenant, username)
        yield warning("no operator can log in", *fix)
    else:
        yield ok(f"{operators} can log in")


def _add_fix(case: DoctorContext, tenant: str, username: str) -> tuple[str, str]:
    """Return the fix for a store without operators, as text and command."""
    add = ("admin", "account", "add", username, "--tenant", tenant, "--role", "operator")
    return "add one", f"{case.command('admin', 'tenant', 'add', tenant)} && {case.command(*add)}"


def _unused_name(connection: Connection, column: Column[Any], name: str) -> str:
    used = set(connection.scalars(select(column).where(column.startswith(name))))
    return next(each for each in chain([name], (f"{name}-{number}" for number in count(2))) if each not in used)


def _enable_fix(case: DoctorContext, disabled: "Row[Any, Any, Any, Any]") -> tuple[str, str]:
    """Return the fix for a disabled operator or tenant, as text and command."""
    commands = []
    if disabled.tenant_disabled:
        commands.append(case.command("admin", "tenant", "enable", *quote_argument(disabled.name)))
    if disabled.disabled:
        commands.append(case.command("admin", "account", "enable", *quote_argument(disabled.username)))
    return f"enable {disabled.username}, or add another one", " && ".join(commands)


def check_sample_passwords(case: DoctorContext) -> Iterator[Finding]:
    with read_connection(case, "cloud") as connection:
        usernames = accounts_with_sample_passwords(connection)
    names, settings = ", ".join(usernames), case.settings
    fix = "change these passwords, or disable the accounts"
    command = " && ".join(case.command("admin", "account", "password", *quote_argument(name)) for name in usernames)
    if not usernames:
        yield ok("not in use")
    elif settings.only_this_machine:
        yield ok(f"used by {names}; the console is reachable from this machine only")
    elif settings.insecure_sample:
        yield warning(
            f"anyone can log in as {names}: their passwords are public, and insecure_sample is set", fix, command
        )
    else:
        yield problem(f"the passwords of {names} are public: cloudconsole serve does not start with them", fix, command)


def check_throttle(case: DoctorContext) -> Iterator[Finding]:
    failures = _failures(case)
    by_network: Counter[str] = Counter()
    for (network, _), number in failures.items():
        by_network[network] += number
    throttled = _throttled_networks(by_network)
    throttled_users = [
        (network, user_hash)
        for (network, user_hash), number in failures.items()
        if number >= login_throttle.USER_FAILURES and network not in throttled
    ]
    names = _names_of(case, {user_hash for _, user_hash in throttled_users})
    findings = [
        *(_throttled_address(network) for network in dict.fromkeys(throttled.values())),
        *(
            _throttled_user(case, names.get(user_hash), _format_network(network))
            for network, user_hash in throttled_users
        ),
    ]
    yield from findings[:MAX_LISTED]
    if len(findings) > MAX_LISTED:
        yield warning(f"{len(findings) - MAX_LISTED} more are throttled", "ignore them if this is an attack")
    if not findings:
        total, seconds = by_network.total(), login_throttle.WINDOW_SECONDS
        yield ok(f"{total} failed logins in the last {seconds} seconds, none throttled")


def _throttled_networks(by_network: Counter[str]) -> dict[str, str]:
    """Map each network whose logins are all throttled to the widest network around it that reached its limit."""
    throttled: dict[str, str] = {}
    for bits, limit in {64: login_throttle.ADDRESS_FAILURES, **login_throttle.NETWORK_FAILURES}.items():
        wider = {network: _format_network(network, bits) for network in by_network}
        by_wider: Counter[str] = Counter()
        for network, number in by_network.items():
            by_wider[wider[network]] += number
        throttled |= {network: name for network, name in wider.items() if by_wider[name] >= limit}
    return throttled


def _format_network(network: str, bits: int = 64) -> str:
    """Return an IPv6 network, or a wider one around it, in canonical form; an IPv4 address unchanged."""
    return str(ip_network(network).supernet(new_prefix=bits)) if network.endswith("/64") else network


def _failures(case: DoctorContext) -> dict[tuple[str, bytes], int]:
    """Return the number of recent failures by network and user."""
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
    """Return the usernames of existing accounts; other names are stored only as hashes."""
    if not user_hashes:
        return {}
    with read_connection(case, "cloud") as connection:
        names = connection.scalars(select(accounts.c.username))
        return {user_hash: name for name in names if (user_hash := hash_username(name)) in user_hashes}


def _throttled_user(case: DoctorContext, name: str | None, network: str) -> Finding:
    if name is None:
        return warning(f"logins of an unknown user from {network} are throttled", _IGNORE_ATTACKER)
    return warning(
        f"logins of {name} from {network} are throttled",
        f"clear the throttle, or wait: {_EXPIRES}",
        case.command("admin", "account", "clear-throttle", *quote_argument(name)),
    )


def _throttled_address(network: str) -> Finding:
    return warning(
        f"all logins from {network} are throttled",
        f"{_IGNORE_ATTACKER}; if it is a proxy, add it to proxies",
    )

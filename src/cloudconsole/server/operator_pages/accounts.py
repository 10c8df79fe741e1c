"""What only accounts have: a password, sessions to end, a throttle to clear."""

from collections.abc import Iterator, Mapping
from typing import Final

from cloudconsole.core.resources import Role
from cloudconsole.operator.entities import ACCOUNTS, Done
from cloudconsole.operator.entities.accounts import clear_throttle
from cloudconsole.operator.errors import Finding, Unfit, refuse_unfit
from cloudconsole.operator.parsing import MINIMUM_LENGTHS, PasswordPolicy
from cloudconsole.server.net import forwarded_address, throttle_address
from cloudconsole.server.operator_pages.controls import Control
from cloudconsole.server.operator_pages.office import Office
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.sessions import Session

PASSWORDS: Final = (
    Control(
        "password",
        "Password",
        f"at least {MINIMUM_LENGTHS['tenant']} characters, {MINIMUM_LENGTHS['operator']} for operators; "
        "more if the settings say so",
        "password",
        ("password",),
        is_required=True,
    ),
    Control("password_again", "Repeat the password", "", "password", ("password_again",), is_required=True),
)
ADDRESS: Final = Control(
    "address",
    "Address",
    "forget only the failures from this IP address; all of them, where it is left empty",
    "text",
    ("address",),
)


def new_password(fields: Mapping[str, str], policy: PasswordPolicy, role: Role) -> str:
    """The password that was typed twice."""
    refuse_unfit(password_findings(fields, policy, role))
    return fields["password"]


def password_findings(fields: Mapping[str, str], policy: PasswordPolicy, role: Role) -> Iterator[Finding]:
    password = fields.get("password", "")
    if problem := policy.problem(password, role):
        yield ("password",), problem
    elif fields.get("password_again", "") != password:
        yield ("password_again",), "differs from the password"


def reset_password(office: Office, who: Session, key: str, fields: Mapping[str, str]) -> Done:
    with office.looking() as desk:
        role = ACCOUNTS.show(desk, key)["role"]
    # Hashed before the transaction: it takes its time, in which others could not write.
    password_hash = hash_password(new_password(fields, office.password_policy, role))
    with office.writing(who) as desk:
        return ACCOUNTS.reset_password(desk, key, password_hash)


def end_sessions(office: Office, who: Session, key: str) -> Done:
    with office.writing(who) as desk:
        return ACCOUNTS.end_sessions(desk, key)


def clear(office: Office, who: Session, key: str, fields: Mapping[str, str]) -> Done:
    network = _network(fields.get("address", "").strip())
    with office.activity() as failures:
        with office.writing(who) as desk:
            done = clear_throttle(desk, failures, key, network)
        failures.commit()
    return done


def _network(text: str) -> str | None:
    if not text:
        return None
    address = forwarded_address(text)
    if address is None:
        raise Unfit([(("address",), "must be an IP address, such as 192.0.2.1")])
    return throttle_address(address)

"""Commands that only accounts have: reset the password, end sessions, clear the login throttle."""

import argparse
from typing import Any, Final

from cloudconsole.cli import output
from cloudconsole.cli.i18n import sentence, translate
from cloudconsole.operator.entities import ACCOUNTS, ChangeResult
from cloudconsole.operator.entities.accounts import clear_throttle, throttle_cleared
from cloudconsole.operator.fields import NOT_AN_ADDRESS
from cloudconsole.server.admin_ui.names import DONE
from cloudconsole.server.commands.admin import messages
from cloudconsole.server.commands.admin.entity_texts import result
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    reading_transaction,
    store,
    writing_transaction,
)
from cloudconsole.server.commands.i18n import localized
from cloudconsole.server.commands.passwords import add_password_arguments, read_new_password
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.ip_addresses import forwarded_address, throttle_address
from cloudconsole.spec.i18n import Text
from cloudconsole.store.passwords import hash_password

VERBS: Final = ("password", "end-sessions", "clear-throttle")


def add_verbs(group: Any) -> None:
    resetting = _parser(group, "password", messages.PASSWORD_VERB)
    add_password_arguments(resetting)
    resetting.set_defaults(admin_command=_reset_password)
    ending = _parser(group, "end-sessions", messages.END_ACCOUNT_SESSIONS)
    ending.set_defaults(admin_command=_end_sessions)
    clearing = _parser(group, "clear-throttle", messages.CLEAR_THROTTLE)
    clearing.add_argument("--address", metavar="IP", type=_network, help=translate(messages.ADDRESS_FLAG))
    clearing.set_defaults(admin_command=_clear_throttle)


def _parser(group: Any, verb: str, text: Text) -> argparse.ArgumentParser:
    purpose = translate(text)
    parser: argparse.ArgumentParser = group.add_parser(
        verb, help=purpose, description=sentence(purpose), allow_abbrev=False
    )
    parser.add_argument("key", metavar="USERNAME", help=translate(messages.USERNAME_ARGUMENT))
    add_store_arguments(parser)
    add_json_argument(parser)
    return parser


def _reset_password(arguments: argparse.Namespace, settings: Settings) -> None:
    with store(settings) as engine:
        with reading_transaction(engine, settings) as tx:
            # Reject an unknown account before the prompt.
            role = ACCOUNTS.show(tx, arguments.key)["role"]
        password_hash = hash_password(read_new_password(arguments, settings.password_policy, role))
        with writing_transaction(engine, settings) as tx:
            done = ACCOUNTS.reset_password(tx, arguments.key, password_hash)
    _print(done, DONE["password"], as_json=arguments.json)


def _end_sessions(arguments: argparse.Namespace, settings: Settings) -> None:
    with store(settings) as engine, writing_transaction(engine, settings) as tx:
        done = ACCOUNTS.end_sessions(tx, arguments.key)
    _print(done, DONE["end-sessions"], as_json=arguments.json)


def _clear_throttle(arguments: argparse.Namespace, settings: Settings) -> None:
    with store(settings) as engine, store(settings, "activity") as activity, activity.connect() as failures:
        with writing_transaction(engine, settings) as tx:
            done = clear_throttle(tx, failures, arguments.key, arguments.address)
        failures.commit()
    _print(done, throttle_cleared(done), as_json=arguments.json)


def _print(done: ChangeResult, text: Text | str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(done.after)
    else:
        output.print_line(result(ACCOUNTS, done.subject, text))


def _network(text: str) -> str:
    address = forwarded_address(text)
    if address is None:
        raise argparse.ArgumentTypeError(localized(NOT_AN_ADDRESS))
    return throttle_address(address)

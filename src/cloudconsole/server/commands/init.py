"""`cloudconsole init`: create a store and its first operator."""

import argparse
import shlex

from cloudconsole.cli import output
from cloudconsole.operator.first_operator import add_first_operator, check_names, reject_if_accounts_exist
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.commands.admin.store import (
    add_json_argument,
    add_store_arguments,
    run_with_settings,
    wait_for_replicas,
    writing_transaction,
)
from cloudconsole.server.commands.passwords import add_password_arguments, read_new_password
from cloudconsole.server.config.docs import format_flag
from cloudconsole.server.config.settings import STORE_SETTINGS, Settings
from cloudconsole.store.passwords import hash_password


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_arguments(parser)
    parser.add_argument("--username", metavar="NAME", default="operator", help="username (default: operator)")
    parser.add_argument("--tenant", metavar="NAME", default="provider", help="its tenant (default: provider)")
    add_password_arguments(parser)
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    return run_with_settings(arguments, _create)


def _create(arguments: argparse.Namespace, settings: Settings) -> None:
    username, tenant = arguments.username, arguments.tenant
    check_names(username=username, tenant=tenant)
    reject_if_accounts_exist(settings.store)
    password_hash = hash_password(read_new_password(arguments, settings.password_policy, "operator"))
    settings.store.migrate(os_user_name())
    with settings.store.opened("cloud") as engine, writing_transaction(engine, settings) as runtime:
        add_first_operator(runtime, username=username, tenant=tenant, password_hash=password_hash)
    wait_for_replicas(settings)
    location = settings.store.location
    if arguments.json:
        output.print_json({"store": location, "username": username, "tenant": tenant})
        return
    flags, remark = _flags(arguments)
    for line in (
        f"created a store in {location} with operator {username} (tenant {tenant})",
        "next steps:",
        "  cloudconsole admin --help  # nodes, prices, tenants and their accounts",
        f"  cloudconsole serve{flags}{remark}",
        f"  cloudconsole doctor{flags}{remark}",
    ):
        output.print_line(line)


def _flags(arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the flags to repeat for other commands, and a remark if a password was removed from them."""
    given = {name: getattr(arguments, name) for name in ("config", *STORE_SETTINGS)}
    remark = ""
    if given["database"] is not None:
        from cloudconsole.store.postgres.dsn import holds_password

        if holds_password(given["database"]):
            remark = "  # password not shown: pass it with --database-password-file"
    words = shlex.join(format_flag(given))
    return f" {words}" if words else "", remark

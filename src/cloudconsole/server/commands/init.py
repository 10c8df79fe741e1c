"""`cloudconsole init`: an empty store and its first operator."""

import argparse
import shlex

from cloudconsole.cli import printing
from cloudconsole.operator.first import add_first_operator, check_names, refuse_if_inhabited
from cloudconsole.server.commands.admin.running import run_with_settings
from cloudconsole.server.commands.admin.stores import add_json_argument, add_store_arguments, writing
from cloudconsole.server.commands.passwords import add_password_arguments, read_new_password
from cloudconsole.server.settings import Settings
from cloudconsole.store.engine import opened
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.preparing import prepare


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_arguments(parser)
    parser.add_argument("--username", metavar="NAME", default="operator", help="the operator (default: operator)")
    parser.add_argument("--tenant", metavar="NAME", default="provider", help="its tenant (default: provider)")
    add_password_arguments(parser)
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    return run_with_settings(arguments, _make)


def _make(arguments: argparse.Namespace, settings: Settings) -> None:
    username, tenant = arguments.username, arguments.tenant
    check_names(username=username, tenant=tenant)
    refuse_if_inhabited(settings.data)
    password_hash = hash_password(read_new_password(arguments))
    prepare(settings.data)
    with opened(settings.data, "cloud") as engine, writing(engine, settings) as desk:
        add_first_operator(desk, username=username, tenant=tenant, password_hash=password_hash)
    folder = settings.data.resolve()
    if arguments.json:
        printing.print_json({"store": str(folder), "username": username, "tenant": tenant})
        return
    for line in (
        f"made a store in {folder} with the operator {username} of the tenant {tenant}",
        "next:",
        "  cloudconsole admin --help  # nodes, prices, tenants and their accounts",
        f"  cloudconsole serve{_flags(arguments)}",
        f"  cloudconsole doctor{_flags(arguments)}",
    ):
        printing.print_line(line)


def _flags(arguments: argparse.Namespace) -> str:
    """Those given here that other commands need, too: without its settings file, a console may know no cloud."""
    given = (("--config", arguments.config), ("--data", arguments.data))
    return "".join(f" {flag} {shlex.quote(str(value))}" for flag, value in given if value is not None)

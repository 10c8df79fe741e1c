"""`cloudconsole init`: an empty store and its first operator."""

import argparse
import shlex

from cloudconsole.cli import printing
from cloudconsole.operator.first import add_first_operator, check_names, refuse_if_inhabited
from cloudconsole.server.commands.admin.running import run_with_settings
from cloudconsole.server.commands.admin.stores import (
    STORE_SETTINGS,
    add_json_argument,
    add_store_arguments,
    settle,
    writing,
)
from cloudconsole.server.commands.passwords import add_password_arguments, read_new_password
from cloudconsole.server.settings import Settings
from cloudconsole.store.passwords import hash_password


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
    refuse_if_inhabited(settings.store)
    password_hash = hash_password(read_new_password(arguments))
    settings.store.migrate()
    with settings.store.opened("cloud") as engine, writing(engine, settings) as desk:
        add_first_operator(desk, username=username, tenant=tenant, password_hash=password_hash)
    settle(settings)
    place = settings.store.place
    if arguments.json:
        printing.print_json({"store": place, "username": username, "tenant": tenant})
        return
    for line in (
        f"made a store in {place} with the operator {username} of the tenant {tenant}",
        "next:",
        "  cloudconsole admin --help  # nodes, prices, tenants and their accounts",
        f"  cloudconsole serve{_flags(arguments)}",
        f"  cloudconsole doctor{_flags(arguments)}",
    ):
        printing.print_line(line)


def _flags(arguments: argparse.Namespace) -> str:
    """Those given here that other commands need, too: without its settings file, a console may know no cloud."""
    given = {name: getattr(arguments, name) for name in ("config", *STORE_SETTINGS)}
    return "".join(
        f" --{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in given.items() if value is not None
    )

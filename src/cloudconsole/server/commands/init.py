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
    flags, hidden = _flags(arguments)
    for line in (
        f"made a store in {place} with the operator {username} of the tenant {tenant}",
        "next:",
        "  cloudconsole admin --help  # nodes, prices, tenants and their accounts",
        f"  cloudconsole serve{flags}{hidden}",
        f"  cloudconsole doctor{flags}{hidden}",
    ):
        printing.print_line(line)


def _flags(arguments: argparse.Namespace) -> tuple[str, str]:
    """Those given here that other commands need, too, and a remark on what is left out of them.

    Without its settings file, a console may know no cloud.
    """
    given = {name: getattr(arguments, name) for name in ("config", *STORE_SETTINGS)}
    remark = ""
    if given["database"] is not None:
        from cloudconsole.store.postgres.address import holds_password, without_password

        if holds_password(given["database"]):
            remark = "  # its password is not shown: give it by --database-password-file"
        given["database"] = without_password(given["database"])
    words = [(f"--{name.replace('_', '-')}", str(value)) for name, value in given.items() if value is not None]
    return "".join(f" {shlex.join(pair)}" for pair in words), remark

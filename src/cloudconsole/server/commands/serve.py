"""`cloudconsole serve`: prepare the store, take the port, say how to begin, serve."""

import argparse
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloudconsole.cli import stdout
from cloudconsole.core.compatibility import IncompatibleDependency
from cloudconsole.operator.entities.accounts import has_accounts
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.sample import accounts_with_sample_passwords
from cloudconsole.server.commands.desk_flags import add_desk_flags, read_desk, refuse_reach, stand_in_defaults
from cloudconsole.server.commands.first_cloud import add_first_cloud_flags, load_first_cloud, read_first_cloud
from cloudconsole.server.commands.refusing import refuse
from cloudconsole.server.commands.shown_password import warn_of_shown_password
from cloudconsole.server.commands.welcome import Start, ready_line, welcome
from cloudconsole.server.commands.whoami import user_name
from cloudconsole.server.config.docs import add_config_flag, add_setting_flags, sample_file
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, SettingError, Settings
from cloudconsole.server.logging import is_journal, set_up_logs
from cloudconsole.server.runtime.supervisor import serve
from cloudconsole.server.runtime.systemd import Notifier
from cloudconsole.server.runtime.tls import hold_reloads, read_certificate
from cloudconsole.server.runtime.uvicorn_compat import require_uvicorn
from cloudconsole.server.runtime.worker import STOP_SIGNALS, ListenError, Sockets, bind, bind_metrics
from cloudconsole.server.test_mode.runtime import Desk
from cloudconsole.store.base import StoreError, reading
from cloudconsole.store.sqlite.store import FolderStore, hold_serving_lock, prepare
from cloudconsole.store.sqlite.test_marker import hold_until_the_end, refuse_desks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [--config FILE] [--sample] [--SETTING VALUE ...]"
    parser.epilog = (
        "Each setting can also stand in the settings file (port = 9000) or in an environment variable "
        "(CLOUDCONSOLE_PORT=9000). A flag goes before a variable, and that before the file."
    )
    add_config_flag(parser)
    parser.add_argument("--print-config", action="store_true", help="print a settings file to start from, and end")
    add_first_cloud_flags(parser)
    parser.add_argument("--json", action="store_true", help="say where it serves in one line of JSON, for programs")
    add_desk_flags(parser)
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.print_config:
        stdout.write(sample_file())
        return 0
    hold_reloads()
    notifier = Notifier.from_environment()
    # Until the server has taken over, there is nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with stand_in_defaults(arguments) as stand_ins:
        return _run(arguments, stand_ins, notifier)


def _run(arguments: argparse.Namespace, stand_ins: Mapping[str, Any], notifier: Notifier) -> int:
    try:
        flags = {name: getattr(arguments, name) for name in ("config", *SETTINGS)}
        warn_of_shown_password(arguments.database)
        settings = load_settings(flags=flags, stand_ins=stand_ins)
        desk = read_desk(arguments, settings)
        set_up_logs(settings)
        certificate = read_certificate(settings)
        first_cloud = read_first_cloud(arguments, settings)
        # Taken before a store is made: a start that is refused leaves nothing behind.
        require_uvicorn()
        listener, metrics_listener = bind(settings.host, settings.port), bind_metrics(settings)
        if not desk.is_ordinary:
            refuse_reach(listener)
        _prepare_store(settings, desk)
        if isinstance(settings.store, FolderStore):
            hold_serving_lock(settings.data)
        if settings.has_keystone:
            _see_token_keys(settings.token_key_file)
        if first_cloud is not None:
            load_first_cloud(first_cloud, settings, int(desk.clock.now()))
        is_empty, sample_accounts = _look(settings)
        if sample_accounts and not (settings.only_this_machine or settings.insecure_sample):
            raise SettingError(
                "the store holds accounts with the sample's well-known passwords, which are served on loopback only: "
                "change them, listen on 127.0.0.1, or give --insecure-sample (CLOUDCONSOLE_INSECURE_SAMPLE=true)"
            )
    except (SettingError, StoreError, ListenError, OperatorError, IncompatibleDependency) as problem:
        return refuse(str(problem))
    port, is_temporary = listener.getsockname()[1], settings.data == stand_ins.get("data")
    start = Start(settings, port, desk, sample_accounts, is_empty=is_empty, is_temporary=is_temporary)
    # From here on there is something to stop. An exit that is raised may be lost on its way, in a finalizer above all,
    # so a signal waits until the server has taken over.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    if arguments.json:
        stdout.write(ready_line(start))
    elif not is_journal(sys.stdout):
        stdout.write(welcome(start))
    stdout.flush()
    if certificate is not None:
        certificate.warn_of_expiry()
    return serve(settings, Sockets(listener, metrics_listener), certificate, desk, notifier)


def _prepare_store(settings: Settings, desk: Desk) -> None:
    """What a desk writes must never be an ordinary console's, so each serves its own stores only."""
    if desk.is_ordinary:
        settings.store.prepare(user_name())
        refuse_desks(settings.store)
    elif settings.database is not None:
        raise SettingError("database: a console for the desk has a store of its own; leave the database out")
    else:
        prepare(settings.data, for_desk=True, actor=user_name())
        hold_until_the_end(settings.data)
        desk.end_older_sessions(settings.data)


def _see_token_keys(file: Path) -> None:
    """Make them where there are none, before there are workers; refuse those that cannot be used."""
    from cloudconsole.backends.openstack.token_encryption import Seals

    Seals(file)


def _look(settings: Settings) -> tuple[bool, list[str]]:
    """Whether there are no accounts at all, and which of the sample's accounts have the sample's password."""
    with settings.store.opened("cloud") as engine, reading(engine).connect() as connection:
        return not has_accounts(connection), accounts_with_sample_passwords(connection)

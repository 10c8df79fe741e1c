"""`cloudconsole serve`: prepare the store, take the port, say how to begin, serve."""

import argparse
import signal
import sys

from sqlalchemy import func, select

from cloudconsole.cli import output
from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.cloudfile.load import load
from cloudconsole.operator.nouns.operators import has_accounts
from cloudconsole.operator.sample import SAMPLE_FILE, accounts_with_sample_passwords
from cloudconsole.server.commands.refusing import refuse
from cloudconsole.server.commands.welcome import welcome
from cloudconsole.server.lifetime import Sockets
from cloudconsole.server.logs import set_up_logs
from cloudconsole.server.serving import ListenError, bind, bind_metrics
from cloudconsole.server.settings import SETTINGS, SettingError, Settings
from cloudconsole.server.settings_reading import load_settings
from cloudconsole.server.settings_text import add_config_flag, add_setting_flags, sample_file
from cloudconsole.server.supervising import serve
from cloudconsole.server.tls import RENEW_SIGNAL, read_certificate
from cloudconsole.store.engine import StoreError, opened, reading
from cloudconsole.store.preparing import prepare
from cloudconsole.store.tables import tenants


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [--config FILE] [--sample] [--SETTING VALUE ...]"
    parser.epilog = (
        "Each setting can also stand in the settings file (port = 9000) or in an environment variable "
        "(CLOUDCONSOLE_PORT=9000). A flag goes before a variable, and that before the file."
    )
    add_config_flag(parser)
    parser.add_argument("--print-config", action="store_true", help="print a settings file to start from, and end")
    parser.add_argument("--sample", action="store_true", help="load the sample cloud into an empty store first")
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.print_config:
        output.write(sample_file())
        return 0
    # Until the server has taken over, there is nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        settings = load_settings(flags={name: getattr(arguments, name) for name in ("config", *SETTINGS)})
        set_up_logs(settings)
        certificate = read_certificate(settings)
        # Taken before a store is made: a start that is refused leaves nothing behind.
        listener, metrics_listener = bind(settings.host, settings.port), bind_metrics(settings)
        prepare(settings.data)
        if arguments.sample:
            _load_sample(settings)
        is_empty, sample_accounts = _look(settings)
        if sample_accounts and not (settings.only_this_machine or settings.insecure_sample):
            raise SettingError(
                "the store holds accounts with the sample's well-known passwords, which are served on loopback only: "
                "change them, listen on 127.0.0.1, or give --insecure-sample (CLOUDCONSOLE_INSECURE_SAMPLE=true)"
            )
        # Until a worker is ready for it, a request to renew waits.
        if certificate is not None:
            signal.pthread_sigmask(signal.SIG_BLOCK, [RENEW_SIGNAL])
    except (SettingError, StoreError, ListenError) as problem:
        return refuse(str(problem))
    port = listener.getsockname()[1]
    output.write(welcome(settings, port, sample_accounts=sample_accounts, is_empty=is_empty))
    output.flush()
    return serve(settings, Sockets(listener, metrics_listener), certificate)


def _load_sample(settings: Settings) -> None:
    """Load the sample where nothing is there yet."""
    with opened(settings.data, "cloud") as engine:
        with reading(engine).connect() as connection:
            is_empty = connection.scalar(select(func.count()).select_from(tenants)) == 0
        if is_empty:
            load(engine, SAMPLE_FILE, zone=settings.zone, now=int(SystemClock().now()), actor="sample")


def _look(settings: Settings) -> tuple[bool, list[str]]:
    """Whether there are no accounts at all, and which of the sample's accounts have the sample's password."""
    with opened(settings.data, "cloud") as engine, reading(engine).connect() as connection:
        return not has_accounts(connection), accounts_with_sample_passwords(connection)

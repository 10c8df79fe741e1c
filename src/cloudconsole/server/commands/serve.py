"""`cloudconsole serve`: prepare the store, take the port, say how to begin, serve."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from sqlalchemy import Engine, func, select

from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.cloudfile.load import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.server.commands.welcome import welcome
from cloudconsole.server.logs import set_up_logs
from cloudconsole.server.serving import ListenError, bind, serve
from cloudconsole.server.settings import SettingError, Settings, load_settings
from cloudconsole.store.engine import StoreError, open_engine, reading
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.preparing import prepare
from cloudconsole.store.tables import accounts, tenants


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Each flag can also be set as an environment variable, CLOUDCONSOLE_PORT for --port; a flag wins."
    parser.add_argument("--sample", action="store_true", help="load the sample cloud into an empty store first")
    for setting in fields(Settings):
        flag = "--" + setting.name.replace("_", "-")
        default = "" if setting.default in (None, ()) else f" (default: {_shown(setting.default)})"
        text = setting.metadata["help"] + default
        if setting.type in (bool, "bool"):
            parser.add_argument(flag, nargs="?", const="true", metavar="true|false", help=text)
        else:
            parser.add_argument(flag, metavar=setting.name.upper(), help=text)


def run(arguments: argparse.Namespace) -> int:
    set_up_logs()
    # Until the server has taken over, there is nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        flags = {setting.name: getattr(arguments, setting.name) for setting in fields(Settings)}
        settings = load_settings(flags=flags)
        prepare(settings.data)
        if arguments.sample:
            _load_sample(settings)
        is_empty, sample_accounts = _look(settings)
        if sample_accounts and not (settings.only_this_machine or settings.insecure_sample):
            raise SettingError(
                "the store holds accounts with the sample's well-known passwords, which are served on loopback only: "
                "change them, listen on 127.0.0.1, or give --insecure-sample (CLOUDCONSOLE_INSECURE_SAMPLE=true)"
            )
        listener = bind(settings.host, settings.port)
    except (SettingError, StoreError, ListenError) as problem:
        return _refuse(str(problem))
    port = listener.getsockname()[1]
    sys.stdout.write(welcome(settings, port, sample_accounts=sample_accounts, is_empty=is_empty))
    sys.stdout.flush()
    return serve(settings, listener)


def _load_sample(settings: Settings) -> None:
    """Load the sample where nothing is there yet."""
    with _cloud(settings) as engine:
        with reading(engine).connect() as connection:
            is_empty = connection.scalar(select(func.count()).select_from(tenants)) == 0
        if is_empty:
            load(engine, SAMPLE_FILE, zone=settings.zone, now=int(SystemClock().now()), actor="sample")


def _look(settings: Settings) -> tuple[bool, list[str]]:
    """Whether there are no accounts at all, and which of the sample's accounts have the sample's password."""
    of_the_sample = accounts.c.username.in_(SAMPLE_PASSWORDS) & ~accounts.c.disabled
    with _cloud(settings) as engine, reading(engine).connect() as connection:
        is_empty = connection.scalar(select(accounts.c.id).limit(1)) is None
        rows = connection.execute(select(accounts.c.username, accounts.c.password_hash).where(of_the_sample))
        hashes = {row.username: row.password_hash for row in rows}
    return is_empty, [
        name
        for name, password in SAMPLE_PASSWORDS.items()
        if name in hashes and password_matches(hashes[name], password)
    ]


@contextmanager
def _cloud(settings: Settings) -> Iterator[Engine]:
    engine = open_engine(settings.data, "cloud")
    try:
        yield engine
    finally:
        engine.dispose()


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _refuse(problem: str) -> int:
    sys.stderr.write(f"cloudconsole: {problem}\n")
    return 1

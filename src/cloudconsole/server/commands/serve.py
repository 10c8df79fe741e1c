"""`cloudconsole serve`: prepare the store, take the port, say how to begin, serve."""

import argparse
import signal
import sys
from dataclasses import fields
from datetime import tzinfo
from pathlib import Path

from sqlalchemy import func, select

from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.cloudfile.load import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.server.commands.welcome import welcome
from cloudconsole.server.logs import set_up_logs
from cloudconsole.server.serving import ListenError, bind, serve
from cloudconsole.server.settings import SettingError, Settings, load_settings
from cloudconsole.store.engine import StoreError, open_engine
from cloudconsole.store.passwords import password_matches
from cloudconsole.store.preparing import prepare
from cloudconsole.store.tables import accounts, tenants


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
        has_sample = _prepare_sample(settings.data, settings.zone, wanted=arguments.sample)
        if has_sample and not (settings.only_this_machine or settings.insecure_sample):
            raise SettingError(
                "the store holds accounts with the sample's well-known passwords, which are served on loopback only: "
                "change them, listen on 127.0.0.1, or give --insecure-sample"
            )
        listener = bind(settings.host, settings.port)
    except (SettingError, StoreError, ListenError) as problem:
        return _refuse(str(problem))
    port = listener.getsockname()[1]
    sys.stdout.write(welcome(settings, port, with_sample=has_sample))
    sys.stdout.flush()
    return serve(settings, listener)


def _prepare_sample(folder: Path, zone: tzinfo, *, wanted: bool) -> bool:
    """Load the sample where it is wanted and nothing is there yet; tell whether its passwords open an account."""
    engine = open_engine(folder, "cloud")
    try:
        with engine.connect() as connection:
            is_empty = connection.scalar(select(func.count()).select_from(tenants)) == 0
        if wanted and is_empty:
            load(engine, SAMPLE_FILE, zone=zone, now=int(SystemClock().now()), actor="sample")
        with engine.connect() as connection:
            enabled = select(accounts.c.username, accounts.c.password_hash).where(~accounts.c.disabled)
            rows = connection.execute(enabled.where(accounts.c.username.in_(SAMPLE_PASSWORDS))).all()
        return any(password_matches(password_hash, SAMPLE_PASSWORDS[username]) for username, password_hash in rows)
    finally:
        engine.dispose()


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _refuse(problem: str) -> int:
    sys.stderr.write(f"cloudconsole: {problem}\n")
    return 1

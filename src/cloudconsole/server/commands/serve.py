"""`cloudconsole serve` and loading of initial data."""

import argparse
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from cloudconsole.cli import stdout
from cloudconsole.core.private_api_check import IncompatibleDependency
from cloudconsole.operator.cloud_file.loader import apply_cloud_file, read_cloud_file
from cloudconsole.operator.cloud_file.model import CloudFile
from cloudconsole.operator.entities.accounts import has_accounts
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.sample import SAMPLE_FILE, accounts_with_sample_passwords
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.server.commands.admin.store import wait_for_replicas
from cloudconsole.server.commands.banner import StartInfo, print_banner, ready_line
from cloudconsole.server.commands.passwords import warn_password_in_arguments
from cloudconsole.server.commands.test_mode_flags import (
    add_test_mode_flags,
    apply_test_defaults,
    read_test_runtime,
    reject_public_address,
)
from cloudconsole.server.config.docs import add_config_flag, add_setting_flags, sample_file
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, SettingError, Settings
from cloudconsole.server.extensions import load_plugins
from cloudconsole.server.logging import configure_logging, exit_with_error, is_journal
from cloudconsole.server.runtime.server import STOP_SIGNALS
from cloudconsole.server.runtime.supervisor import serve
from cloudconsole.server.runtime.systemd import Notifier
from cloudconsole.server.runtime.tls import block_reload_signal, read_certificate
from cloudconsole.server.runtime.worker import ListenError, ListeningSockets, bind, bind_metrics
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store import tables
from cloudconsole.store.base import StoreError, read_only_engine
from cloudconsole.store.sqlite.store import SqliteStore, hold_serving_lock, prepare
from cloudconsole.store.sqlite.test_marker import hold_until_exit, reject_test_store


class InitialCloud(NamedTuple):
    """A validated cloud file."""

    source: Path
    content: CloudFile
    passwords: dict[str, str]
    is_sample: bool


def add_initial_cloud_flags(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--sample", action="store_true", help="load the sample cloud if the store is empty")
    choice.add_argument(
        "--cloud", metavar="FILE", type=Path, help="load this cloud file first; the store must be empty"
    )


def read_initial_cloud(arguments: argparse.Namespace, settings: Settings) -> InitialCloud | None:
    """Read the cloud file named by the flags, if any; raise with all its problems."""
    source = SAMPLE_FILE if arguments.sample else arguments.cloud
    if source is None:
        return None
    return InitialCloud(
        source, *read_cloud_file(source, settings.zone, policy=settings.password_policy), is_sample=arguments.sample
    )


class _StoreNotEmpty(Exception):
    """The store already has data."""


def load_initial_cloud(cloud: InitialCloud, settings: Settings, now: int) -> None:
    """Load the cloud into an empty store; if there is data, skip the sample and reject any other file."""
    actor = "sample" if cloud.is_sample else "serve"
    with settings.store.opened("cloud") as engine:
        try:
            # Checked before the slow password hashing, and again by apply_cloud_file while it holds the lock.
            with read_only_engine(engine).connect() as connection:
                _reject_not_empty(connection)
            data = (cloud.content, cloud.passwords)
            apply_cloud_file(
                engine,
                *data,
                name=cloud.source.name,
                now=now,
                actor=actor,
                zone=settings.zone,
                require=_reject_not_empty,
            )
            # Other replicas may already be serving the store.
            wait_for_replicas(settings)
        except _StoreNotEmpty:
            if not cloud.is_sample:
                raise OperatorError(
                    f"--cloud: {settings.store} is not empty and was not changed: choose another store with --data or "
                    f"--database, or run cloudconsole admin load {cloud.source} and serve without --cloud"
                ) from None


def _reject_not_empty(connection: Connection) -> None:
    """Reject a store in which a load would remove data."""
    loaded = (tables.tenants, tables.nodes, tables.flavors, tables.prices, tables.news, tables.urls)
    if any(connection.execute(select(table).limit(1)).first() is not None for table in loaded):
        raise _StoreNotEmpty


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [--config FILE] [--sample] [--SETTING VALUE ...]"
    parser.epilog = (
        "Settings can also be set in the settings file (port = 9000) or the environment (CLOUDCONSOLE_PORT=9000). "
        "Flags override variables, variables override the file."
    )
    add_config_flag(parser)
    parser.add_argument("--print-config", action="store_true", help="print a sample settings file and exit")
    add_initial_cloud_flags(parser)
    parser.add_argument("--json", action="store_true", help="print URL, region and accounts as one line of JSON")
    add_test_mode_flags(parser)
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.print_config:
        stdout.write(sample_file())
        return 0
    block_reload_signal()
    notifier = Notifier.from_environment()
    # Until the server installs its handlers there is nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with apply_test_defaults(arguments) as default_overrides:
        return _run(arguments, default_overrides, notifier)


def _run(arguments: argparse.Namespace, default_overrides: Mapping[str, Any], notifier: Notifier) -> int:
    try:
        flags = {name: getattr(arguments, name) for name in ("config", *SETTINGS)}
        warn_password_in_arguments(arguments.database)
        settings = load_settings(flags=flags, default_overrides=default_overrides)
        runtime = read_test_runtime(arguments, settings)
        configure_logging(settings)
        certificate = read_certificate(settings)
        load_plugins(settings)
        first_cloud = read_initial_cloud(arguments, settings)
        # Bound before the store is created: a failed start leaves nothing behind.
        listener, metrics_listener = bind(settings.host, settings.port), bind_metrics(settings)
        if not runtime.is_ordinary:
            reject_public_address(listener)
        _prepare_store(settings, runtime)
        if isinstance(settings.store, SqliteStore):
            hold_serving_lock(settings.data)
        if settings.has_keystone:
            _check_token_keys(settings.token_key_file)
        if first_cloud is not None:
            load_initial_cloud(first_cloud, settings, int(runtime.clock.now()))
        is_empty, sample_accounts = _inspect_accounts(settings)
        if sample_accounts and not (settings.only_this_machine or settings.insecure_sample):
            raise SettingError(
                "the store has accounts with the sample's public passwords, which are served on loopback only: "
                "change them, listen on 127.0.0.1, or pass --insecure-sample (CLOUDCONSOLE_INSECURE_SAMPLE=true)"
            )
    except (SettingError, StoreError, ListenError, OperatorError, IncompatibleDependency) as problem:
        return exit_with_error(str(problem))
    port, is_temporary = listener.getsockname()[1], settings.data == default_overrides.get("data")
    start = StartInfo(settings, port, runtime, sample_accounts, is_empty=is_empty, is_temporary=is_temporary)
    # From here on there is something to stop. SystemExit raised in a handler can be swallowed, for example in a
    # finalizer, so signals stay blocked until the server installs its handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    if arguments.json:
        stdout.write(ready_line(start))
    elif not is_journal(sys.stdout):
        stdout.write(print_banner(start))
    stdout.flush()
    if certificate is not None:
        certificate.warn_of_expiry()
    return serve(settings, ListeningSockets(listener, metrics_listener), certificate, runtime, notifier)


def _prepare_store(settings: Settings, runtime: ServerRuntime) -> None:
    """Prepare the store; test mode and ordinary consoles reject each other's stores."""
    if runtime.is_ordinary:
        settings.store.prepare(os_user_name())
        reject_test_store(settings.store)
    elif settings.database is not None:
        raise SettingError("database: test mode supports the embedded store only; remove the setting")
    else:
        prepare(settings.data, test_mode=True, actor=os_user_name())
        hold_until_exit(settings.data)
        runtime.end_older_sessions(settings.data)


def _check_token_keys(file: Path) -> None:
    """Create missing keys before workers start, and reject invalid ones."""
    from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher

    TokenCipher(file)


def _inspect_accounts(settings: Settings) -> tuple[bool, list[str]]:
    """Return whether there are no accounts, and which sample accounts still have the sample's password."""
    with settings.store.opened("cloud") as engine, read_only_engine(engine).connect() as connection:
        return not has_accounts(connection), accounts_with_sample_passwords(connection)

"""What `serve` loads into a store that is empty still: the sample, or a cloud file of one's own."""

import argparse
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, select

from cloudconsole.operator.cloud_file.loader import make_equal, read_cloud_file
from cloudconsole.operator.cloud_file.model import CloudFile
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.commands.admin.stores import settle
from cloudconsole.server.config.settings import Settings
from cloudconsole.store import tables
from cloudconsole.store.base import reading


class FirstCloud(NamedTuple):
    """A cloud file without problems."""

    source: Path
    content: CloudFile
    passwords: dict[str, str]
    is_sample: bool


def add_first_cloud_flags(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--sample", action="store_true", help="load the sample cloud into an empty store first")
    choice.add_argument(
        "--cloud", metavar="FILE", type=Path, help="load a cloud file of your own first; the store must be empty"
    )


def read_first_cloud(arguments: argparse.Namespace, settings: Settings) -> FirstCloud | None:
    """What the flags name, if anything; a file with problems raises with every one of them."""
    source = SAMPLE_FILE if arguments.sample else arguments.cloud
    if source is None:
        return None
    return FirstCloud(
        source, *read_cloud_file(source, settings.zone, policy=settings.password_policy), is_sample=arguments.sample
    )


class _Inhabited(Exception):
    """Something is there already."""


def load_first_cloud(cloud: FirstCloud, settings: Settings, now: int) -> None:
    """Load it where nothing is there yet; else the sample leaves what is there, and a file of one's own is refused."""
    actor = "sample" if cloud.is_sample else "serve"
    with settings.store.opened("cloud") as engine:
        try:
            # Looked at first, since passwords take their time; and again when it is certain that nobody else loads.
            with reading(engine).connect() as connection:
                _refuse_inhabited(connection)
            what = (cloud.content, cloud.passwords)
            make_equal(engine, *what, name=cloud.source.name, now=now, actor=actor, refuse=_refuse_inhabited)
            # Other replicas may serve the store already.
            settle(settings)
        except _Inhabited:
            if not cloud.is_sample:
                raise OperatorError(
                    f"--cloud: {settings.store} is not empty, and stays as it is: give another with --data or "
                    f"--database; or leave --cloud out after cloudconsole admin load {cloud.source}"
                ) from None


def _refuse_inhabited(connection: Connection) -> None:
    """Refuse a store from which a load would take something away."""
    loaded = (tables.tenants, tables.nodes, tables.flavors, tables.prices, tables.news, tables.urls)
    if any(connection.execute(select(table).limit(1)).first() is not None for table in loaded):
        raise _Inhabited

"""What `serve` loads into a store that is empty still: the sample, or a cloud file of one's own."""

import argparse
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, select

from cloudconsole.operator.cloudfile.load import make_equal, read_cloud_file
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.server.settings import Settings
from cloudconsole.store import tables
from cloudconsole.store.engine import opened, reading


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
    return FirstCloud(source, *read_cloud_file(source, settings.zone), is_sample=arguments.sample)


def load_first_cloud(cloud: FirstCloud, settings: Settings, now: int) -> None:
    """Load it where nothing is there yet; else the sample leaves what is there, and a file of one's own is refused."""
    with opened(settings.data, "cloud") as engine:
        with reading(engine).connect() as connection:
            is_empty = _is_empty(connection)
        if is_empty:
            actor = "sample" if cloud.is_sample else "serve"
            make_equal(engine, cloud.content, cloud.passwords, name=cloud.source.name, now=now, actor=actor)
        elif not cloud.is_sample:
            raise OperatorError(
                f"--cloud: the store in {settings.data} is not empty, and stays as it is: give --data with another "
                f"folder; or leave --cloud out after cloudconsole admin load {cloud.source} --data {settings.data}"
            )


def _is_empty(connection: Connection) -> bool:
    """Whether a load would take nothing away."""
    loaded = (tables.tenants, tables.nodes, tables.flavors, tables.prices, tables.news, tables.urls)
    return all(connection.execute(select(table).limit(1)).first() is None for table in loaded)

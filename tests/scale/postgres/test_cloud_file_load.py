"""A load of a very large file on PostgreSQL may take minutes between two statements."""

from datetime import UTC

from sqlalchemy import Connection

from cloudconsole.operator.cloud_file.loader import apply_cloud_file, read_cloud_file
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import opened


def test_load_has_a_longer_idle_timeout(address: Dsn) -> None:
    timeouts = list[object]()

    def record_timeout(connection: Connection) -> None:
        timeouts.append(connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar())

    with opened(address, "cloud") as engine:
        apply_cloud_file(
            engine, *read_cloud_file(SAMPLE_FILE, UTC), name="sample", now=0, actor="tests", require=record_timeout
        )
        with engine.begin() as connection:
            record_timeout(connection)
    assert timeouts == ["10min", "30s"]

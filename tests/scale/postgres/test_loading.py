"""A load of a very large file on PostgreSQL: it may work for minutes between two statements."""

from datetime import UTC

from sqlalchemy import Connection

from cloudconsole.operator.cloud_file.loader import apply_cloud_file, read_cloud_file
from cloudconsole.operator.sample import SAMPLE_FILE
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import opened


def test_it_is_not_taken_for_a_replica_that_stands_still(address: Dsn) -> None:
    shown = list[object]()

    def look(connection: Connection) -> None:
        shown.append(connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar())

    with opened(address, "cloud") as engine:
        apply_cloud_file(engine, *read_cloud_file(SAMPLE_FILE, UTC), name="sample", now=0, actor="tests", require=look)
        with engine.begin() as connection:
            look(connection)
    assert shown == ["10min", "30s"]

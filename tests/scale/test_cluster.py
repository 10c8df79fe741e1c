"""A killed PostgreSQL server: commits survive, and no process is left."""

import psycopg
import pytest
from cluster.postgres import PostgresServer

from tests.e2e.processes import children_of, is_running


@pytest.mark.parametrize("is_paused", [False, True])
def test_commits_survive_a_kill_which_leaves_no_process(is_paused: bool) -> None:
    with PostgresServer() as server:
        address = server.create_database("things")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE things AS SELECT 'committed' AS name")
            connection.execute("BEGIN; INSERT INTO things VALUES ('never committed')")
            processes = server.processes
            assert set(processes) == {processes[0], *children_of(processes[0])}
            assert len(processes) > 3
            if is_paused:
                server.pause()
            server.kill()
            assert not server.processes
            assert not [process for process in processes if is_running(process)]
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        server.start()
        assert server.execute("SELECT name FROM things", "things") == [("committed",)]
    assert not server.is_running
    assert not server.folder.exists()

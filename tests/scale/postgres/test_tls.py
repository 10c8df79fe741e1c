"""The console and a PostgreSQL that speaks TLS: whose word is taken for who it is, and whose is not."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest
from cluster.certificates import make_certificate
from cluster.postgres import PostgresServer
from cluster.replica import Replica

from tests.e2e.processes import command
from tests.harness import Caller, OverHttp

ENCRYPTED = """
    SELECT ssl, count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'cloud' GROUP BY ssl
"""


@pytest.fixture(scope="module")
def server(quick_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """With the sample cloud in the database `cloud`, which came there over TLS, too."""
    folder = tmp_path_factory.mktemp("tls")
    data, password = copytree(quick_store, folder / "data"), folder / "password"
    with PostgresServer(tls=True, durable=False) as running:
        running.create_database("cloud")
        password.write_text(running.password)
        target = running.address("cloud", password=False)
        done = command("admin", "copy-to", target, "--password-file", str(password), "--data", str(data))
        assert (done.returncode, done.stderr) == (0, "")
        yield running


def address(server: PostgresServer, **parameters: str) -> str:
    """Where it is, without a word on whom to trust but what is given."""
    plain = server.address("cloud").partition("?")[0]
    return f"{plain}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}"


def assert_served(server: PostgresServer, database: str) -> None:
    """A session goes through a console, all of whose connections are encrypted."""
    with Replica({"database": database, "insecure_sample": True}) as replica, closing(OverHttp(replica.base)) as wire:
        caller = Caller(wire)
        assert caller.login().status == 200
        assert caller.call("GetUsageLimits").status == 200
        ((is_encrypted, count),) = server.execute(ENCRYPTED)
        assert is_encrypted
        assert count > 1


def test_an_authority_of_ones_own_is_named_in_the_address(server: PostgresServer) -> None:
    assert_served(server, address(server, sslmode="verify-full", sslrootcert=str(server.certificate)))


def test_without_one_the_systems_authorities_are_asked(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    assert_served(server, address(server, sslmode="verify-full"))


@pytest.mark.parametrize("arguments", [("serve",), ("admin", "tenant", "list")], ids=["serve", "admin"])
@pytest.mark.parametrize("named", ["in the address", "by the system"])
def test_a_server_that_nobody_vouches_for_is_refused(
    server: PostgresServer, tmp_path: Path, arguments: tuple[str, ...], named: str
) -> None:
    other, _ = make_certificate(tmp_path)
    trust, variables = {"sslrootcert": str(other)}, {"HOME": str(tmp_path)}
    if named == "by the system":
        trust, variables = {}, variables | {"SSL_CERT_FILE": str(other)}
    done = command(*arguments, CLOUDCONSOLE_DATABASE=address(server, sslmode="verify-full", **trust), **variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert "certificate verify failed" in done.stderr
    assert server.password not in done.stderr


def test_a_certificate_for_another_name_is_refused(server: PostgresServer) -> None:
    place = address(server, sslmode="verify-full", sslrootcert=str(server.certificate), hostaddr="127.0.0.1")
    done = command("admin", "tenant", "list", CLOUDCONSOLE_DATABASE=place.replace("@127.0.0.1", "@db.example.com"))
    assert done.returncode == 1
    assert 'does not match host name "db.example.com"' in done.stderr

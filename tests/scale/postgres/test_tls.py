"""TLS connections to PostgreSQL: which server certificates are accepted."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest
from cluster.certificates import make_certificate
from cluster.postgres import PostgresServer
from cluster.replica import Replica

from tests.e2e.processes import command
from tests.harness import ApiClient, HttpTransport

ENCRYPTED = """
    SELECT ssl, count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'cloud' GROUP BY ssl
"""


@pytest.fixture(scope="module")
def server(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A TLS server with the sample cloud in the database `cloud`, copied there over TLS."""
    directory = tmp_path_factory.mktemp("tls")
    data, password = copytree(fast_hash_store, directory / "data"), directory / "password"
    with PostgresServer(tls=True, durable=False) as running:
        running.create_database("cloud")
        password.write_text(running.password)
        target = running.address("cloud", password=False)
        done = command("admin", "copy-to", target, "--password-file", str(password), "--data", str(data))
        assert (done.returncode, done.stderr) == (0, "")
        yield running


def dsn_of(server: PostgresServer, **parameters: str) -> str:
    """Return the DSN with only the given TLS parameters."""
    plain = server.address("cloud").partition("?")[0]
    return f"{plain}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}"


def assert_served(server: PostgresServer, database: str) -> None:
    """Check that a session works, and that all database connections are encrypted."""
    with (
        Replica({"database": database, "insecure_sample": True}) as replica,
        closing(HttpTransport(replica.base)) as transport,
    ):
        client = ApiClient(transport)
        assert client.login().status == 200
        assert client.call("GetUsageLimits").status == 200
        ((is_encrypted, count),) = server.execute(ENCRYPTED)
        assert is_encrypted
        assert count > 1


def test_dsn_can_name_a_private_ca(server: PostgresServer) -> None:
    assert_served(server, dsn_of(server, sslmode="verify-full", sslrootcert=str(server.certificate)))


def test_system_cas_are_used_by_default(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    assert_served(server, dsn_of(server, sslmode="verify-full"))


@pytest.mark.parametrize(
    ("arguments", "source"), [(("serve",), "in the address"), (("admin", "tenant", "list"), "by the system")]
)
def test_untrusted_server_is_rejected(
    server: PostgresServer, tmp_path: Path, arguments: tuple[str, ...], source: str
) -> None:
    other, _ = make_certificate(tmp_path)
    trust, variables = {"sslrootcert": str(other)}, {"HOME": str(tmp_path)}
    if source == "by the system":
        trust, variables = {}, variables | {"SSL_CERT_FILE": str(other)}
    done = command(*arguments, CLOUDCONSOLE_DATABASE=dsn_of(server, sslmode="verify-full", **trust), **variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert "certificate verify failed" in done.stderr
    assert server.password not in done.stderr


def test_certificate_for_another_name_is_rejected(server: PostgresServer) -> None:
    dsn = dsn_of(server, sslmode="verify-full", sslrootcert=str(server.certificate), hostaddr="127.0.0.1")
    done = command("admin", "tenant", "list", CLOUDCONSOLE_DATABASE=dsn.replace("@127.0.0.1", "@db.example.com"))
    assert done.returncode == 1
    assert 'does not match host name "db.example.com"' in done.stderr

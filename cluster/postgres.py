"""A PostgreSQL server for tests, with an optional synchronous standby."""

import signal
import time
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from cluster import postgres_setup as setup
from cluster.certificates import make_certificate
from cluster.errors import ClusterError
from cluster.processes import ProcessTree
from cluster.server import HOST, Server

SUPERUSER: Final = "postgres"
USER: Final = "console"
PASSWORD: Final = "console-database"
START_SECONDS: Final = 90
CONNECT_SECONDS: Final = 30


class PostgresServer(Server):
    """A PostgreSQL with two roles: the superuser, via the socket only, and `console`, with a password over TCP.

    An existing data directory is reused. Started by root, it runs as another user, who must be able to access the
    folder. Commits survive `kill`, unless `durable=False` trades that for speed.
    """

    user: Final = USER
    password: Final = PASSWORD
    stop_signal = signal.SIGINT  # fast shutdown: closes connections instead of waiting for them

    def __init__(
        self,
        folder: Path | None = None,
        *,
        tls: bool = False,
        durable: bool = True,
        settings: setup.Settings | None = None,
    ) -> None:
        """`tls` requires TLS over TCP. `settings` override ours in postgresql.conf."""
        super().__init__("postgres", folder)
        self.tls = tls
        self._durable = durable
        self._settings = dict(settings or {})
        self._user = setup.find_user()
        self._programs = setup.find_programs()

    @property
    def certificate(self) -> Path:
        """The certificate that clients have to trust if TLS is on."""
        return self.folder / "certificate.pem"

    def address(self, database: str, *ports: int, password: bool = True, **parameters: str) -> str:
        """Return the DSN of a database for the user `console`.

        `ports` replace the server's own, for example with those of proxies; several are tried in turn. `parameters`
        are libpq's. `password=False` omits the password.
        """
        user = f"{USER}:{quote(PASSWORD)}" if password else USER
        hosts = ",".join(f"{HOST}:{port}" for port in ports or (self.port,))
        if self.tls:
            parameters = {"sslmode": "verify-full", "sslrootcert": str(self.certificate)} | parameters
        query = f"?{urlencode(parameters, safe='/', quote_via=quote)}" if parameters else ""
        return f"postgresql://{user}@{hosts}/{quote(database, safe='')}{query}"

    def start(self) -> Self:
        """Initialize it if needed, start it, and wait until it accepts connections; after a kill it recovers first."""
        self._require_stopped()
        if not (self.folder / "data" / "PG_VERSION").exists():
            self._initialize()
        self._write_settings()
        self._tree = ProcessTree(
            [str(self._programs / "postgres"), "-D", str(self.folder / "data")],
            folder=self.folder / "data",
            log=self.log,
            user=self._user,
        )
        self._wait_until_ready(self._tree)
        if not self.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{USER}'"):
            self.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{setup.fast_verifier(PASSWORD)}'")
        return self

    def standby(self) -> "PostgresServer":
        """Start a synchronous standby of this server; from now on commits wait for it.

        It is read-only until `promote`, and has no TLS.
        """
        standby = PostgresServer(durable=self._durable, settings=self._settings)
        try:
            data = standby._create_folders()
            setup.base_backup(self._programs, self.folder / "socket", self.port, data, self._user, SUPERUSER)
            standby.start()
            self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.execute("SELECT pg_reload_conf()")
            self._wait_for_sync()
        except BaseException:
            standby.close()
            raise
        return standby

    def promote(self) -> None:
        """Promote this standby to a primary."""
        if self.execute("SELECT pg_promote()") != [(True,)]:
            raise ClusterError("the standby was not promoted")

    def create_database(self, name: str, template: str | None = None) -> str:
        """Create a database of `console`, empty or from a template without connections; return its DSN."""
        statement = sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(USER))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        with self.connect() as connection:
            if not self._durable and connection.info.server_version >= setup.WAL_LOG_STRATEGY_FROM:
                # Without fsync, copying files is cheaper than copying pages through the WAL.
                statement += sql.SQL(" STRATEGY file_copy")
            connection.execute(statement)
        return self.address(name)

    def drop_database(self, name: str) -> None:
        """Drop a database and its connections."""
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def connect(self, database: str = SUPERUSER) -> "psycopg.Connection[tuple[Any, ...]]":
        """Connect as the superuser via the socket, in autocommit mode."""
        return psycopg.connect(
            host=str(self.folder / "socket"),
            port=self.port,
            user=SUPERUSER,
            dbname=database,
            connect_timeout=CONNECT_SECONDS,
            autocommit=True,
        )

    def execute(self, statement: Any, database: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser; return its rows."""
        with self.connect(database) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _initialize(self) -> None:
        setup.initialize(self._programs, self._create_folders(), self._user, SUPERUSER)

    def _create_folders(self) -> Path:
        """Create its folders; return the data directory."""
        data, socket = self.folder / "data", self.folder / "socket"
        for folder in (self.folder, data, socket):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        setup.chown(self._user, self.folder, data, socket)
        return data

    def _write_settings(self) -> None:
        data = self.folder / "data"
        settings: dict[str, str | int] = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": str(self.folder / "socket"),
            **setup.FAST_SETTINGS,
            **({} if self._durable else setup.UNSAFE_SETTINGS),
            **self._settings,
        }
        if self.tls:
            if not self.certificate.exists():
                setup.chown(self._user, *make_certificate(self.folder))
            settings |= {
                "ssl": "on",
                "ssl_cert_file": str(self.certificate),
                "ssl_key_file": str(self.folder / "key.pem"),
            }
        (data / "postgresql.conf").write_text(setup.settings_text(settings))
        (data / "pg_hba.conf").write_text(setup.hba_rules("hostssl" if self.tls else "host"))

    def _wait_until_ready(self, tree: ProcessTree) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if not tree.is_running or time.monotonic() > deadline:
                    tree.kill()
                    raise ClusterError(f"PostgreSQL did not start:\n{tree.log_tail()}") from None
                time.sleep(0.02)
            else:
                return

    def _wait_for_sync(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self.execute("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            if time.monotonic() > deadline:
                raise ClusterError("the standby is not in sync")
            time.sleep(0.02)

"""A PostgreSQL of one's own: made, started, halted, killed and ended; on a free port of the loopback address."""

import signal
import time
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from cluster import postgres_making as making
from cluster.certificates import make_certificate
from cluster.errors import ClusterFailed
from cluster.part import HOST, Part
from cluster.processes import Family

SUPERUSER: Final = "postgres"
USER: Final = "console"
PASSWORD: Final = "console-database"
START_SECONDS: Final = 90
CONNECT_SECONDS: Final = 30


class PostgresServer(Part):
    """A PostgreSQL with two users: its superuser, by the socket alone, and `console`, by a password over TCP.

    What is in its folder is started from again. For root the processes belong to another user, who must be able to
    reach the folder.

    What was committed survives `kill`. `durable=False` gives that up for speed.
    """

    user: Final = USER
    password: Final = PASSWORD
    stop_signal = signal.SIGINT  # which ends connections, too, instead of waiting for them

    def __init__(
        self,
        folder: Path | None = None,
        *,
        tls: bool = False,
        durable: bool = True,
        settings: making.Settings | None = None,
    ) -> None:
        """With `tls` it refuses TCP connections without. `settings` are PostgreSQL's own, over ours."""
        super().__init__("postgres", folder)
        self.tls = tls
        self._durable = durable
        self._settings = dict(settings or {})
        self._user = making.find_user()
        self._programs = making.find_programs()

    @property
    def certificate(self) -> Path:
        """What a caller has to trust, where there is TLS."""
        return self.folder / "certificate.pem"

    def address(self, database: str, *ports: int, password: bool = True, **parameters: str) -> str:
        """Where a database is for the user `console`, in libpq's form.

        Ports are those to go through instead, such as a wire's; with several they are tried in turn. `parameters`
        are more of libpq's. `password=False` leaves the password out, for who has it from elsewhere.
        """
        who = f"{USER}:{quote(PASSWORD)}" if password else USER
        hosts = ",".join(f"{HOST}:{port}" for port in ports or (self.port,))
        if self.tls:
            parameters = {"sslmode": "verify-full", "sslrootcert": str(self.certificate)} | parameters
        more = f"?{urlencode(parameters, safe='/', quote_via=quote)}" if parameters else ""
        return f"postgresql://{who}@{hosts}/{quote(database, safe='')}{more}"

    def start(self) -> Self:
        """Make it where there is none yet, and wait until it takes connections; after a kill, it recovers first."""
        self._refuse_running()
        if not (self.folder / "data" / "PG_VERSION").exists():
            self._make()
        self._write_settings()
        self._family = Family(
            [str(self._programs / "postgres"), "-D", str(self.folder / "data")],
            folder=self.folder / "data",
            log=self.log,
            user=self._user,
        )
        self._wait_until_ready(self._family)
        if not self.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{USER}'"):
            self.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{making.quick_verifier(PASSWORD)}'")
        return self

    def standby(self) -> "PostgresServer":
        """Another that follows this one, started; who waits for a commit here waits from now on until it is there, too.

        It can be read, but takes no writes before `promote`. It has no TLS.
        """
        follower = PostgresServer(durable=self._durable, settings=self._settings)
        try:
            data = follower._make_folders()
            making.copy(self._programs, self.folder / "socket", self.port, data, self._user, SUPERUSER)
            follower.start()
            self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.execute("SELECT pg_reload_conf()")
            self._wait_until_followed()
        except BaseException:
            follower.close()
            raise
        return follower

    def promote(self) -> None:
        """Let a standby follow no more, and take writes."""
        if self.execute("SELECT pg_promote()") != [(True,)]:
            raise ClusterFailed("the standby does not take over")

    def create_database(self, name: str, template: str | None = None) -> str:
        """An empty database of `console`, or a copy of another, to which nobody may be connected; its address."""
        statement = sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(USER))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        with self.connect() as connection:
            if not self._durable and connection.info.server_version >= making.COPIES_BY_LOG_FROM:
                # Files as they are: without fsync that costs less than page by page through the log.
                statement += sql.SQL(" STRATEGY file_copy")
            connection.execute(statement)
        return self.address(name)

    def drop_database(self, name: str) -> None:
        """Whoever is connected to it is disconnected."""
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def connect(self, database: str = SUPERUSER) -> "psycopg.Connection[tuple[Any, ...]]":
        """A connection of the superuser, by the socket, which commits each statement by itself."""
        return psycopg.connect(
            host=str(self.folder / "socket"),
            port=self.port,
            user=SUPERUSER,
            dbname=database,
            connect_timeout=CONNECT_SECONDS,
            autocommit=True,
        )

    def execute(self, statement: Any, database: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser; the rows that it gives."""
        with self.connect(database) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def _make(self) -> None:
        making.make(self._programs, self._make_folders(), self._user, SUPERUSER)

    def _make_folders(self) -> Path:
        """Make those that it needs; that of its data, which is empty."""
        data, socket = self.folder / "data", self.folder / "socket"
        for folder in (self.folder, data, socket):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        making.give_to(self._user, self.folder, data, socket)
        return data

    def _write_settings(self) -> None:
        data = self.folder / "data"
        settings: dict[str, str | int] = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": str(self.folder / "socket"),
            **making.QUICK,
            **({} if self._durable else making.UNSAFE),
            **self._settings,
        }
        if self.tls:
            if not self.certificate.exists():
                making.give_to(self._user, *make_certificate(self.folder))
            settings |= {
                "ssl": "on",
                "ssl_cert_file": str(self.certificate),
                "ssl_key_file": str(self.folder / "key.pem"),
            }
        (data / "postgresql.conf").write_text(making.settings_text(settings))
        (data / "pg_hba.conf").write_text(making.host_rules("hostssl" if self.tls else "host"))

    def _wait_until_ready(self, family: Family) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if not family.is_running or time.monotonic() > deadline:
                    family.kill()
                    raise ClusterFailed(f"PostgreSQL did not start:\n{family.last_words()}") from None
                time.sleep(0.02)
            else:
                return

    def _wait_until_followed(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self.execute("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            if time.monotonic() > deadline:
                raise ClusterFailed("the standby does not follow")
            time.sleep(0.02)

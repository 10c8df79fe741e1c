"""Settings of the server, and the contradictions between them that abort start-up."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from cloudconsole.backends.openstack.config import ClientLimits
from cloudconsole.cli.config import VARIABLES
from cloudconsole.core.hosts import normalise_region, parse_host
from cloudconsole.operator.parsing import MINIMUM_LENGTHS, PasswordPolicy
from cloudconsole.server.config import types as meanings
from cloudconsole.server.config.identity_endpoints import KEYSTONE, LOCAL, Endpoints, IdentityEndpoint
from cloudconsole.server.config.types import Choice, ListenAddress, ListOf, SettingType, Switch, WholeNumber
from cloudconsole.server.net import Network, is_loopback
from cloudconsole.store.base import Store
from cloudconsole.store.sqlite.store import SqliteStore

Contradiction = tuple[str, tuple[str, ...]]
"""What is wrong and mends it, and the settings of which at least one is wrong."""


def contradictions(settings: "Settings") -> Iterator[Contradiction]:
    yield from _of_addresses(settings)
    yield from _of_certificates(settings)
    yield from _of_endpoints(settings)
    yield from _of_stores(settings)


def _of_addresses(settings: "Settings") -> Iterator[Contradiction]:
    if settings.origin_host and settings.hosts and settings.origin_host not in settings.hosts:
        text = f"hosts: add {settings.origin_host}, the host of public_origin, or leave hosts out"
        yield text, ("hosts", "public_origin")
    if settings.metrics == (settings.host, settings.port) and settings.port:
        yield "metrics: give another address or port than the console's own", ("metrics",)


def _of_certificates(settings: "Settings") -> Iterator[Contradiction]:
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate and not key:
        yield "tls_key: give the key of tls_certificate, or leave both out", ("tls_certificate", "tls_key")
    if key and not certificate:
        yield "tls_certificate: give the certificate of tls_key, or leave both out", ("tls_certificate", "tls_key")
    if certificate and not settings.always_https:
        text = "public_origin: make it https, since the console speaks https, or leave it out"
        yield text, ("public_origin", "tls_certificate", "tls_key")
    if settings.hsts_include_subdomains and not settings.hsts:
        yield "hsts_include_subdomains: set hsts above 0, or leave it out", ("hsts", "hsts_include_subdomains")


def _of_endpoints(settings: "Settings") -> Iterator[Contradiction]:
    if settings.any_region and any(endpoint.kind != LOCAL for endpoint in settings.identity):
        text = "any_region: leave it out, or leave out the identity endpoints that are not local"
        yield text, ("any_region", "identity")
    addresses = Counter(normalise_region(endpoint.address) for endpoint in settings.identity)
    for address, times in addresses.items():
        if times > 1:
            yield f"identity: give {address} once", ("identity",)


def _of_stores(settings: "Settings") -> Iterator[Contradiction]:
    if settings.database_password_file and not settings.database:
        text = "database: give the database of database_password_file, or leave both out"
        yield text, ("database", "database_password_file")
    if settings.database and settings.has_keystone and not settings.token_keys:
        text = "token_keys: give a file that all replicas have, since each may serve every session"
        yield text, ("token_keys", "database", "identity")


ENVIRONMENT_PREFIX: Final = "CLOUDCONSOLE_"
CONFIG_FLAG: Final = "--config"
STORE_SETTINGS: Final = ("data", "database", "database_password_file")
"""The settings that commands over a store take as flags."""
CONFIG_VARIABLE: Final = "CLOUDCONSOLE_CONFIG"
CLIENT_VARIABLES: Final = VARIABLES | {f"{ENVIRONMENT_PREFIX}OTHER_PASSWORD"}
"""Of the same prefix, but for whoever calls a console, or examines one."""

LISTENING: Final = "Listening"
STORE: Final = "Store"
SERVED: Final = "Who is served"
SESSIONS: Final = "Sessions and passwords"
LIMITS: Final = "Limits"
OPENSTACK: Final = "OpenStack"
MONEY: Final = "Money and time"
LOGS: Final = "Logs and metrics"


class SettingError(Exception):
    """Settings that cannot be used; the text names each, with the mend, on a line of its own."""

    def __init__(self, text: str, settings: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.settings = frozenset(settings)
        """Those that contradict each other, where that is what is wrong."""


def _setting(default: Any, group: str, kind: SettingType, help_text: str) -> Any:
    return field(default=default, metadata={"group": group, "kind": kind, "help": help_text})


@dataclass(frozen=True, kw_only=True)
class Settings:
    host: str = _setting("127.0.0.1", LISTENING, meanings.HOST, "address to listen on")
    port: int = _setting(8000, LISTENING, WholeNumber(0, 65535), "port to listen on; 0 takes a free one")
    workers: int = _setting(1, LISTENING, WholeNumber(1, 64), "worker processes")
    tls_certificate: Path | None = _setting(
        None, LISTENING, meanings.CERTIFICATE_FILE, "certificate and its chain, in PEM: the console then speaks https"
    )
    tls_key: Path | None = _setting(
        None, LISTENING, meanings.KEY_FILE, "the certificate's key, in PEM, without a passphrase"
    )
    hsts: int = _setting(
        31_536_000,
        LISTENING,
        WholeNumber(0, 63_072_000),
        "seconds that browsers keep to https after an answer by https; 0 is off",
    )
    hsts_include_subdomains: bool = _setting(
        False, LISTENING, Switch(), "keep browsers to https for all subdomains of the console's host, too"
    )

    data: Path = _setting(Path("data"), STORE, meanings.FOLDER, "folder of the embedded store")
    database: str | None = _setting(
        None, STORE, meanings.DATABASE, "PostgreSQL database that holds the store, instead of the folder"
    )
    database_password_file: Path | None = _setting(
        None, STORE, meanings.PASSWORD_FILE, "file with the password for the database"
    )

    hosts: tuple[str, ...] = _setting((), SERVED, ListOf(meanings.SERVED_HOST), "Host names to serve")
    public_origin: str | None = _setting(None, SERVED, meanings.ORIGIN, "the console's address as browsers see it")
    proxies: tuple[Network, ...] = _setting(
        (), SERVED, ListOf(meanings.NETWORK), "proxies whose forwarded headers are believed"
    )
    identity: tuple[IdentityEndpoint, ...] = _setting(
        (), SERVED, Endpoints(), "addresses that login accepts as region, besides our own"
    )
    any_region: bool = _setting(False, SERVED, Switch(), "accept every region at login (for trying things out)")
    login_redirect: bool = _setting(False, SERVED, Switch(), "answer a login with 302 to / instead of 200")
    admin_ui: bool = _setting(True, SERVED, Switch(), "serve the pages for operators at /admin/")
    insecure_sample: bool = _setting(False, SERVED, Switch(), "serve the sample's known passwords beyond this machine")

    session_idle: int = _setting(
        1800, SESSIONS, WholeNumber(120, 31_536_000), "seconds without a call after which a session ends"
    )
    session_lifetime: int = _setting(
        43_200, SESSIONS, WholeNumber(60, 31_536_000), "seconds after login at which a session ends, used or not"
    )

    password_min_length: int = _setting(
        8,
        SESSIONS,
        WholeNumber(MINIMUM_LENGTHS["tenant"], 128),
        "least number of characters of a new password; operators' have at least 12 in any case",
    )

    max_body: int = _setting(65_536, LIMITS, WholeNumber(1024, 1_048_576), "largest request body in bytes")
    request_timeout: int = _setting(
        30, LIMITS, WholeNumber(1, 3600), "seconds within which a request must have arrived"
    )
    max_connections: int = _setting(
        10_000, LIMITS, WholeNumber(16, 1_000_000), "connections that each worker holds at once"
    )
    stop_grace: int = _setting(
        30, LIMITS, WholeNumber(0, 3600), "seconds that running calls get to finish when stopping"
    )
    worker_timeout: int = _setting(
        30,
        LIMITS,
        WholeNumber(0, 3600),
        "seconds after which a worker whose event loop does not advance is replaced; 0 is off",
    )

    identity_recheck: int = _setting(
        10,
        OPENSTACK,
        WholeNumber(0, 3600),
        "seconds after which Keystone is asked again whether a token is good; 0: on every call",
    )
    cloud_cache: int = _setting(
        5, OPENSTACK, WholeNumber(0, 3600), "seconds that an answer of the cloud is kept; 0 keeps none"
    )
    flavor_cache: int = _setting(
        300, OPENSTACK, WholeNumber(0, 86_400), "seconds that the cloud's flavors are kept; 0 keeps none"
    )
    cloud_call_timeout: int = _setting(
        10, OPENSTACK, WholeNumber(1, 600), "seconds that one call to a service of the cloud may take"
    )
    cloud_timeout: int = _setting(
        15, OPENSTACK, WholeNumber(1, 600), "seconds that all calls to the cloud for one action may take"
    )
    cloud_concurrency: int = _setting(
        16, OPENSTACK, WholeNumber(1, 1000), "calls at once, of one worker, to one service of one region"
    )
    token_keys: Path | None = _setting(
        None,
        OPENSTACK,
        meanings.TOKEN_KEYS,
        "file of the keys that encrypt tokens; token-keys in the data folder unless set",
    )

    currency: str = _setting("CNY", MONEY, meanings.CURRENCY, "currency of all amounts")
    time_zone: str = _setting("UTC", MONEY, meanings.TIME_ZONE, "time zone of the clock hour and of news dates")

    access_log: bool = _setting(False, LOGS, Switch(), "log a line for every call")
    log_format: str = _setting(
        "auto",
        LOGS,
        Choice("auto", "json", "pretty"),
        "form of log lines; auto is pretty on a terminal, else json",
    )
    metrics: ListenAddress | None = _setting(
        None, LOGS, meanings.LISTEN_ADDRESS, "where to serve Prometheus metrics; nowhere unless set"
    )

    @cached_property
    def store(self) -> Store:
        """Where everything is kept; one for all, so that its engines hear of what its reader finds out."""
        if self.database is None:
            return SqliteStore(self.data)
        # Only now: without a database, what speaks to one is neither loaded nor needed.
        from cloudconsole.store.postgres.dsn import Dsn
        from cloudconsole.store.postgres.store import PostgresStore

        return PostgresStore(Dsn(self.database, self.database_password_file))

    @property
    def zone(self) -> tzinfo:
        return ZoneInfo(self.time_zone)

    @property
    def password_policy(self) -> PasswordPolicy:
        return PasswordPolicy(self.password_min_length)

    @property
    def manners(self) -> ClientLimits:
        """How the console behaves towards a cloud."""
        return ClientLimits(
            call_seconds=self.cloud_call_timeout,
            action_seconds=self.cloud_timeout,
            concurrency=self.cloud_concurrency,
            cache_seconds=self.cloud_cache,
            flavor_seconds=self.flavor_cache,
        )

    @property
    def token_key_file(self) -> Path:
        return self.token_keys or self.data / "token-keys"

    @property
    def has_keystone(self) -> bool:
        return any(endpoint.kind == KEYSTONE for endpoint in self.identity)

    @property
    def has_local_accounts(self) -> bool:
        """Whether tenants may log in with accounts of the console's own."""
        return not self.identity or any(endpoint.kind == LOCAL for endpoint in self.identity)

    @property
    def only_this_machine(self) -> bool:
        """Whether nobody but this machine can be meant to reach the console."""
        if self.proxies:
            return False
        names = [self.host, *self.hosts, *([self.origin_host] if self.origin_host else [])]
        return all(is_loopback(name) for name in names)

    @property
    def origin_host(self) -> str | None:
        """The host of the public origin, where one is set."""
        return parse_host(self.public_origin.split("//")[1]) if self.public_origin else None

    @property
    def own_scheme(self) -> str:
        """What the console itself speaks, whatever a proxy makes of it."""
        return "https" if self.tls_certificate else "http"

    @property
    def always_https(self) -> bool:
        """Whether every caller is known to come by https."""
        return (self.public_origin or self.own_scheme).startswith("https")

    def __post_init__(self) -> None:
        found = list(contradictions(self))
        if found:
            texts, settings = zip(*found, strict=True)
            raise SettingError("\n".join(texts), {name for names in settings for name in names})


class Setting(NamedTuple):
    """A setting as help, documents and the sample file show it."""

    name: str
    default: Any
    group: str
    kind: SettingType
    help: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()


SETTINGS: Final = {each.name: Setting(each.name, each.default, **each.metadata) for each in fields(Settings)}

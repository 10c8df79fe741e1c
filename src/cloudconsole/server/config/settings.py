"""Settings of the server, and their cross-field validation."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from datetime import tzinfo
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from cloudconsole.backends.openstack.config import ClientLimits
from cloudconsole.cli.config import VARIABLES
from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.core.origins import parse_host
from cloudconsole.operator.password_policy import MINIMUM_LENGTHS, PasswordPolicy
from cloudconsole.server.config import types
from cloudconsole.server.config.identity_endpoints import KEYSTONE, LOCAL, Endpoints, IdentityEndpoint
from cloudconsole.server.config.types import BUILT_IN, Choice, ListenAddress, ListOf, SettingType, Switch, WholeNumber
from cloudconsole.server.ip_addresses import Network, is_loopback
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.focus import Issuer
from cloudconsole.spec.installed_extensions import installed_extensions
from cloudconsole.store.base import Store
from cloudconsole.store.sqlite.store import SqliteStore

Contradiction = tuple[str, tuple[str, ...]]
"""The problem with its fix, and the settings involved."""


def contradictions(settings: "Settings") -> Iterator[Contradiction]:
    yield from _of_addresses(settings)
    yield from _of_certificates(settings)
    yield from _of_endpoints(settings)
    yield from _of_stores(settings)
    yield from _of_extensions(settings)


def _of_addresses(settings: "Settings") -> Iterator[Contradiction]:
    if settings.origin_host and settings.hosts and settings.origin_host not in settings.hosts:
        text = f"hosts: add {settings.origin_host}, the host of public_origin, or remove hosts"
        yield text, ("hosts", "public_origin")
    if settings.metrics == (settings.host, settings.port) and settings.port:
        yield "metrics: must differ from the console's own address and port", ("metrics",)


def _of_certificates(settings: "Settings") -> Iterator[Contradiction]:
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate and not key:
        yield "tls_key: set the key of tls_certificate, or remove both", ("tls_certificate", "tls_key")
    if key and not certificate:
        yield "tls_certificate: set the certificate of tls_key, or remove both", ("tls_certificate", "tls_key")
    if certificate and not settings.always_https:
        text = "public_origin: must be https, since the console serves https, or remove it"
        yield text, ("public_origin", "tls_certificate", "tls_key")
    if settings.hsts_include_subdomains and not settings.hsts:
        yield "hsts_include_subdomains: set hsts above 0, or remove it", ("hsts", "hsts_include_subdomains")


def _of_endpoints(settings: "Settings") -> Iterator[Contradiction]:
    if settings.any_region and any(endpoint.kind != LOCAL for endpoint in settings.identity):
        text = "any_region: remove it, or remove identity endpoints that are not local"
        yield text, ("any_region", "identity")
    addresses = Counter(normalise_region(endpoint.address) for endpoint in settings.identity)
    for address, occurrences in addresses.items():
        if occurrences > 1:
            yield f"identity: {address} is listed more than once", ("identity",)


def _of_stores(settings: "Settings") -> Iterator[Contradiction]:
    if settings.database_password_file and not settings.database:
        text = "database: set the database of database_password_file, or remove both"
        yield text, ("database", "database_password_file")
    if settings.database and settings.has_keystone and not settings.token_keys:
        text = "token_keys: set a file that all replicas share, since each may serve every session"
        yield text, ("token_keys", "database", "identity")


def _of_extensions(settings: "Settings") -> Iterator[Contradiction]:
    if not settings.plugin_names:
        return
    packages: dict[str, list[str]] = {}
    for extension in installed_extensions():
        packages.setdefault(extension.name, []).append(extension.package)
    for name in settings.plugin_names:
        found = packages.get(name, [])
        if any(action.name == name for action in ACTIONS):
            yield f"extensions: {name} is one of the six actions, which are always on; remove it", ("extensions",)
        elif not found:
            text = f"extensions: {name} is neither built in nor in an installed package; install one, or remove it"
            yield text, ("extensions",)
        elif len(found) > 1:
            text = f"extensions: {name} is in several packages, {' and '.join(found)}; uninstall all but one"
            yield text, ("extensions",)


_BUILT_IN_NAMES: Final = tuple(action.name for action in EXTENSIONS)

ENVIRONMENT_PREFIX: Final = "CLOUDCONSOLE_"
CONFIG_FLAG: Final = "--config"
STORE_SETTINGS: Final = ("data", "database", "database_password_file")
"""Settings that commands on a store accept as flags."""
CONFIG_VARIABLE: Final = "CLOUDCONSOLE_CONFIG"
CLIENT_VARIABLES: Final = VARIABLES | {f"{ENVIRONMENT_PREFIX}OTHER_PASSWORD"}
"""Variables with the same prefix that belong to the client and the conformance suite."""

LISTENING: Final = "Listening"
STORE: Final = "Store"
SERVED: Final = "Access"
SESSIONS: Final = "Sessions and passwords"
LIMITS: Final = "Limits"
OPENSTACK: Final = "OpenStack"
BILLING: Final = "Billing and time zone"
LOGS: Final = "Logs and metrics"


class SettingError(Exception):
    """Invalid settings; the text has one line per problem, with its fix."""

    def __init__(self, text: str, settings: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.settings = frozenset(settings)
        """Settings that contradict each other, if that is the problem."""


def _setting(default: Any, group: str, kind: SettingType, help_text: str) -> Any:
    return field(default=default, metadata={"group": group, "kind": kind, "help": help_text})


@dataclass(frozen=True, kw_only=True)
class Settings:
    host: str = _setting("127.0.0.1", LISTENING, types.HOST, "address to listen on")
    port: int = _setting(8000, LISTENING, WholeNumber(0, 65535), "port to listen on; 0 picks a free one")
    workers: int = _setting(1, LISTENING, WholeNumber(1, 64), "number of worker processes")
    tls_certificate: Path | None = _setting(
        None, LISTENING, types.CERTIFICATE_FILE, "PEM file of the certificate and its chain; enables https"
    )
    tls_key: Path | None = _setting(
        None, LISTENING, types.KEY_FILE, "PEM file of the private key, without a passphrase"
    )
    hsts: int = _setting(
        31_536_000,
        LISTENING,
        WholeNumber(0, 63_072_000),
        "max-age in seconds of Strict-Transport-Security, sent over https; 0 disables it",
    )
    hsts_include_subdomains: bool = _setting(
        False, LISTENING, Switch(), "add includeSubDomains to Strict-Transport-Security"
    )

    data: Path = _setting(Path("data"), STORE, types.DIRECTORY, "data directory of the embedded store")
    database: str | None = _setting(
        None, STORE, types.DATABASE, "PostgreSQL database to use instead of the data directory"
    )
    database_password_file: Path | None = _setting(None, STORE, types.PASSWORD_FILE, "file with the database password")

    hosts: tuple[str, ...] = _setting((), SERVED, ListOf(types.SERVED_HOST), "accepted Host header values")
    public_origin: str | None = _setting(None, SERVED, types.ORIGIN, "origin of the console as browsers see it")
    proxies: tuple[Network, ...] = _setting(
        (), SERVED, ListOf(types.NETWORK), "proxies whose forwarded headers are trusted"
    )
    identity: tuple[IdentityEndpoint, ...] = _setting((), SERVED, Endpoints(), "addresses that login accepts as region")
    any_region: bool = _setting(False, SERVED, Switch(), "accept any region at login (for experiments)")
    login_redirect: bool = _setting(False, SERVED, Switch(), "respond to a login with 302 to / instead of 200")
    admin_ui: bool = _setting(True, SERVED, Switch(), "serve the admin UI at /admin/")
    extensions: tuple[str, ...] = _setting(
        (BUILT_IN,), SERVED, ListOf(types.EXTENSION), "actions in addition to the six; an empty list for none"
    )
    insecure_sample: bool = _setting(False, SERVED, Switch(), "allow the sample's public passwords beyond loopback")

    session_idle: int = _setting(
        1800, SESSIONS, WholeNumber(120, 31_536_000), "seconds without a request after which a session ends"
    )
    session_lifetime: int = _setting(
        43_200, SESSIONS, WholeNumber(60, 31_536_000), "seconds after login at which a session ends, even if in use"
    )

    password_min_length: int = _setting(
        8,
        SESSIONS,
        WholeNumber(MINIMUM_LENGTHS["tenant"], 128),
        "minimum length of a new password; at least 12 for operators",
    )

    max_body: int = _setting(65_536, LIMITS, WholeNumber(1024, 1_048_576), "maximum request body in bytes")
    request_timeout: int = _setting(
        30, LIMITS, WholeNumber(1, 3600), "seconds within which a request must arrive completely"
    )
    max_connections: int = _setting(10_000, LIMITS, WholeNumber(16, 1_000_000), "maximum open connections per worker")
    stop_grace: int = _setting(
        30, LIMITS, WholeNumber(0, 3600), "seconds that running requests get to finish at shutdown"
    )
    worker_timeout: int = _setting(
        30,
        LIMITS,
        WholeNumber(0, 3600),
        "seconds after which a worker with a blocked event loop is replaced; 0 disables this",
    )

    identity_recheck: int = _setting(
        10,
        OPENSTACK,
        WholeNumber(0, 3600),
        "seconds after which a token is revalidated with Keystone; 0: on every request",
    )
    cloud_cache: int = _setting(
        5, OPENSTACK, WholeNumber(0, 3600), "seconds that responses of the cloud are cached; 0 disables caching"
    )
    flavor_cache: int = _setting(
        300, OPENSTACK, WholeNumber(0, 86_400), "seconds that flavors of the cloud are cached; 0 disables caching"
    )
    cloud_call_timeout: int = _setting(
        10, OPENSTACK, WholeNumber(1, 600), "timeout in seconds of one request to a cloud service"
    )
    cloud_timeout: int = _setting(
        15,
        OPENSTACK,
        WholeNumber(1, 600),
        "timeout in seconds of all cloud requests of one action, and of an extension of a package",
    )
    cloud_concurrency: int = _setting(
        16, OPENSTACK, WholeNumber(1, 1000), "concurrent requests per worker, service and region"
    )
    token_keys: Path | None = _setting(
        None,
        OPENSTACK,
        types.TOKEN_KEYS,
        "file of the token encryption keys; token-keys in the data directory unless set",
    )

    currency: str = _setting("CNY", BILLING, types.CURRENCY, "currency of all amounts")
    provider: str = _setting(
        "Cloud Console", BILLING, types.PROVIDER, "provider, publisher and issuer of invoices in exported costs"
    )
    time_zone: str = _setting("UTC", BILLING, types.TIME_ZONE, "time zone of the billing hour and of news dates")

    access_log: bool = _setting(False, LOGS, Switch(), "log every request")
    log_format: str = _setting(
        "auto",
        LOGS,
        Choice("auto", "json", "pretty"),
        "log format; auto is pretty on a terminal, otherwise json",
    )
    metrics: ListenAddress | None = _setting(
        None, LOGS, types.LISTEN_ADDRESS, "address for Prometheus metrics; disabled unless set"
    )

    @cached_property
    def store(self) -> Store:
        """The store; one instance, since its engines and its reader share state."""
        if self.database is None:
            return SqliteStore(self.data)
        # Imported here: the postgres extra is optional.
        from cloudconsole.store.postgres.dsn import Dsn
        from cloudconsole.store.postgres.store import PostgresStore

        return PostgresStore(Dsn(self.database, self.database_password_file))

    @property
    def extension_names(self) -> tuple[str, ...]:
        """The extensions that are on, in the order of the setting, without repeats."""
        names = (_BUILT_IN_NAMES if name == BUILT_IN else (name,) for name in self.extensions)
        return tuple(dict.fromkeys(chain.from_iterable(names)))

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """The extensions that are on and not built in."""
        return tuple(name for name in self.extension_names if name not in _BUILT_IN_NAMES)

    @property
    def zone(self) -> tzinfo:
        return ZoneInfo(self.time_zone)

    @property
    def issuer(self) -> Issuer:
        return Issuer(self.provider, self.currency)

    @property
    def password_policy(self) -> PasswordPolicy:
        return PasswordPolicy(self.password_min_length)

    @property
    def client_limits(self) -> ClientLimits:
        """Limits of requests to a cloud."""
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
        """Whether tenants can log in with accounts of the store."""
        return not self.identity or any(endpoint.kind == LOCAL for endpoint in self.identity)

    @property
    def only_this_machine(self) -> bool:
        """Whether the console is configured for loopback only."""
        if self.proxies:
            return False
        names = [self.host, *self.hosts, *([self.origin_host] if self.origin_host else [])]
        return all(is_loopback(name) for name in names)

    @property
    def origin_host(self) -> str | None:
        """The host of the public origin, if set."""
        return parse_host(self.public_origin.split("//")[1]) if self.public_origin else None

    @property
    def own_scheme(self) -> str:
        """The scheme of the listening socket, regardless of proxies."""
        return "https" if self.tls_certificate else "http"

    @property
    def always_https(self) -> bool:
        """Whether all clients use https."""
        return (self.public_origin or self.own_scheme).startswith("https")

    def __post_init__(self) -> None:
        problems = list(contradictions(self))
        if problems:
            texts, settings = zip(*problems, strict=True)
            raise SettingError("\n".join(texts), {name for names in settings for name in names})


class Setting(NamedTuple):
    """Declaration of a setting, for help, documents and the sample file."""

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

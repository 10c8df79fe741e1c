"""Which Host headers are served, which forwarded headers are trusted, and the record of undeclared proxies."""

import logging
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import pytest

from cloudconsole.core.origins import parse_host
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.proxy import MAX_ADDRESSES, ProxyPolicy
from cloudconsole.server.http.request import Request
from cloudconsole.spec.errors import InvalidHost
from cloudconsole.store.tables import undeclared_proxies
from tests.harness import FakeClock, InProcessTransport
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import drain_tasks, make_request, rows

PROXY: Final = "10.0.0.1"
PUBLIC: Final = "https://console.example.com"


def apply_policy(
    settings: Settings,
    *hosts: str,
    http_version: str = "1.1",
    scheme: str = "http",
    peer: str | None = "192.0.2.1",
    server: tuple[str, int] | None = None,
    **headers: str,
) -> Request:
    """Apply the policy to a request with these Host headers; more headers by name, with underscores for dashes."""
    pairs = [(b"host", host.encode("latin-1")) for host in hosts]
    pairs += [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    request = make_request(pairs, http_version=http_version, scheme=scheme, peer=peer or "", server=server)
    ProxyPolicy(settings).apply(request)
    return request


def is_served(settings: Settings, *hosts: str, **options: Any) -> bool:
    try:
        apply_policy(settings, *hosts, **options)
    except InvalidHost:
        return False
    return True


LOOPBACK_BOUND: Final = Settings(data=Path())
WILDCARD_BOUND: Final = Settings(data=Path(), host="0.0.0.0")
HOSTS_SET: Final = Settings(data=Path(), hosts=("console.example.com", "2001:db8::1"))
PUBLIC_SET: Final = Settings(data=Path(), host="0.0.0.0", public_origin=PUBLIC)
BEHIND_PROXY: Final = Settings(data=Path(), host="0.0.0.0", proxies=(ip_network("10.0.0.0/8"),))

LOOPBACK_HOSTS: Final = [
    *("127.0.0.1", "127.9.8.7:1", "[0:0:0:0:0:0:0:1]:8000"),
    *("LOCALHOST:8000", "localhost.:8000", "console.localhost"),
]
OTHER_HOSTS: Final = [
    *("evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost", "under_score.example"),
    *("0.0.0.0", "[2001:db8::1]", "[::]"),
]
MALFORMED_HOSTS: Final = [
    *("", ":8000", "local host", "localhost:8000:1", "localhost:8000 "),
    *("localhost/", "localhost@evil.example", "localhost,evil.example", "localhost#", "localhost\\", "%6cocalhost"),
    *(".localhost", "localhost..", "a..localhost", "-a.localhost", "*.localhost"),
    *("::1", "[::1", "[::1]8000", "[127.0.0.1]", "[fe80::1%25eth0]"),
    *("a" * 64 + ".localhost", "a." * 124 + "localhost"),
]


@pytest.mark.parametrize("host", [*LOOPBACK_HOSTS, *OTHER_HOSTS, *MALFORMED_HOSTS])
def test_by_default_the_bound_address_decides_which_hosts_are_served(host: str) -> None:
    for bound in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        assert is_served(replace(LOOPBACK_BOUND, host=bound), host) == (host in LOOPBACK_HOSTS)
    for bound in ("0.0.0.0", "::", "192.0.2.1"):
        assert is_served(replace(WILDCARD_BOUND, host=bound), host) == (host not in MALFORMED_HOSTS)


@pytest.mark.parametrize(
    ("settings", "host", "served"),
    [
        (HOSTS_SET, "CONSOLE.Example.Com.:8443", True),
        (HOSTS_SET, "[2001:DB8:0::1]:8000", True),
        (HOSTS_SET, "www.console.example.com", False),
        (HOSTS_SET, "console.example.com.evil.example", False),
        (HOSTS_SET, "localhost", False),
        (HOSTS_SET, "[::1]", False),
        (PUBLIC_SET, "console.example.com:8000", True),
        (PUBLIC_SET, "www.console.example.com", False),
        (PUBLIC_SET, "192.0.2.1", False),
        (replace(PUBLIC_SET, hosts=("console.example.com", "inside.example")), "inside.example", True),
    ],
)
@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_only_configured_hosts_are_served(settings: Settings, bound: str, host: str, served: bool) -> None:
    assert is_served(replace(settings, host=bound), host) == served
    assert is_served(replace(PUBLIC_SET, host=bound), "localhost:8000") == (bound == "127.0.0.1")


@pytest.mark.parametrize(
    ("settings", "scheme", "server", "origin"),
    [
        (LOOPBACK_BOUND, "http", None, None),
        (LOOPBACK_BOUND, "https", None, None),
        (LOOPBACK_BOUND, "http", ("127.0.0.1", 8000), "http://127.0.0.1:8000"),
        (LOOPBACK_BOUND, "http", ("::1", 8000), "http://[::1]:8000"),
        (LOOPBACK_BOUND, "http", ("10.0.0.1", 80), "http://10.0.0.1"),
        (PUBLIC_SET, "http", None, PUBLIC),
    ],
)
def test_without_a_host_the_origin_is_the_public_one_or_the_server_address(
    settings: Settings, scheme: str, server: tuple[str, int] | None, origin: str | None
) -> None:
    request = apply_policy(settings, http_version="1.0", scheme=scheme, server=server)
    assert (request.host, request.origin, request.address) == (None, origin, "192.0.2.1")
    assert request.secure == (origin or scheme).startswith("https")


@pytest.mark.parametrize("settings", [LOOPBACK_BOUND, WILDCARD_BOUND, HOSTS_SET, PUBLIC_SET])
def test_only_an_http_1_0_request_may_have_no_host(settings: Settings) -> None:
    assert [is_served(settings, http_version=version) for version in ("1.0", "1.1")] == [True, False]
    assert is_served(settings, "evil.example", http_version="1.0") == (settings is WILDCARD_BOUND)


@pytest.mark.parametrize("settings", [LOOPBACK_BOUND, WILDCARD_BOUND])
@pytest.mark.parametrize("second", ["localhost", "evil.example"])
def test_repeated_host_headers_are_rejected_even_if_equal(settings: Settings, second: str) -> None:
    assert not is_served(settings, "localhost", second)


def test_the_longest_host_name_is_served_with_its_port_and_longer_ones_are_not_cached() -> None:
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert len(longest) == 253
    assert is_served(WILDCARD_BOUND, f"{longest}:65535")
    assert not is_served(WILDCARD_BOUND, f"{longest}d:65535")
    before = parse_host.cache_info()
    assert not is_served(WILDCARD_BOUND, "a" * 301)
    assert parse_host.cache_info() == before


@pytest.mark.parametrize(
    ("settings", "warns"),
    [(LOOPBACK_BOUND, False), (WILDCARD_BOUND, True), (HOSTS_SET, False), (PUBLIC_SET, False)],
)
def test_serving_any_host_logs_a_warning(settings: Settings, warns: bool, caplog: pytest.LogCaptureFixture) -> None:
    ProxyPolicy(settings)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert bool(warnings) == warns
    assert all("hosts" in record.getMessage() for record in warnings)


# The public origin.


@pytest.mark.parametrize(
    ("settings", "scheme", "host", "origin"),
    [
        (LOOPBACK_BOUND, "http", "localhost", "http://localhost"),
        (LOOPBACK_BOUND, "http", "localhost:80", "http://localhost"),
        (LOOPBACK_BOUND, "http", "localhost:", "http://localhost"),
        (LOOPBACK_BOUND, "http", "localhost:443", "http://localhost:443"),
        (LOOPBACK_BOUND, "https", "localhost:443", "https://localhost"),
        (LOOPBACK_BOUND, "https", "localhost:80", "https://localhost:80"),
        (LOOPBACK_BOUND, "http", "LocalHost.:8000", "http://localhost:8000"),
        (LOOPBACK_BOUND, "http", "[0:0::1]:8000", "http://[::1]:8000"),
        (PUBLIC_SET, "http", "console.example.com:8000", PUBLIC),
        (PUBLIC_SET, "https", "console.example.com:8000", PUBLIC),
    ],
)
def test_the_origin_is_the_configured_one_or_derived_from_the_request(
    settings: Settings, scheme: str, host: str, origin: str
) -> None:
    request = apply_policy(settings, host, scheme=scheme)
    assert (request.origin, request.secure) == (origin, origin.startswith("https:"))


# Forwarded headers.


FORWARDED: Final[dict[str, Any]] = {
    "x_forwarded_host": "shop.example",
    "x_forwarded_proto": "https",
    "x_forwarded_for": "203.0.113.9",
    "x_forwarded_ssl": "on",
    "forwarded": "for=198.51.100.7;host=evil.example;proto=http",
}


@pytest.mark.parametrize("peer", [PROXY, "10.255.255.255", "::ffff:10.0.0.1"])
def test_forwarded_headers_of_a_configured_proxy_are_used(peer: str) -> None:
    request = apply_policy(BEHIND_PROXY, "inside:8000", peer=peer, **FORWARDED)
    assert (request.host, request.origin, request.address) == ("shop.example", "https://shop.example", "203.0.113.9")


@pytest.mark.parametrize("peer", ["11.0.0.1", "192.0.2.1", "::1", "::ffff:11.0.0.1", "", None, "not-an-address"])
@pytest.mark.parametrize("settings", [BEHIND_PROXY, WILDCARD_BOUND])
def test_forwarded_headers_of_other_peers_are_ignored(settings: Settings, peer: str | None) -> None:
    request = apply_policy(settings, "inside:8000", peer=peer, **FORWARDED)
    assert (request.host, request.origin, request.address) == ("inside:8000", "http://inside:8000", peer or "")


def test_a_forwarded_host_is_checked_like_any_other() -> None:
    settings = replace(BEHIND_PROXY, hosts=("shop.example",))
    assert is_served(settings, "inside", peer=PROXY, x_forwarded_host="shop.example")
    assert not is_served(settings, "shop.example", peer=PROXY, x_forwarded_host="evil.example")
    assert not is_served(settings, "evil.example", peer="192.0.2.1", x_forwarded_host="shop.example")


@pytest.mark.parametrize(
    ("header", "is_secure"),
    [("https", True), ("http, https", True), ("http", False), ("https, http", False), ("gopher", False), ("", False)],
)
def test_the_nearest_of_several_forwarded_schemes_is_used(header: str, is_secure: bool) -> None:
    assert apply_policy(BEHIND_PROXY, "inside", peer=PROXY, x_forwarded_proto=header).secure == is_secure


@pytest.mark.parametrize(("header", "host"), [("evil.example, shop.example", "shop.example"), ("", "inside")])
def test_the_nearest_of_several_forwarded_hosts_is_used(header: str, host: str) -> None:
    assert apply_policy(BEHIND_PROXY, "inside", peer=PROXY, x_forwarded_host=header).host == host


@pytest.mark.parametrize(
    ("chain", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9, 10.0.0.3, 10.0.0.2", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("2001:DB8:0:0::9", "2001:db8::9"),
        ("[2001:db8::9]:4711", "2001:db8::9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("10.0.0.3, 10.0.0.2", PROXY),
        ("::ffff:10.0.0.2", PROXY),
        ("", PROXY),
        ("198.51.100.1, unknown", PROXY),
        ("198.51.100.1, ", PROXY),
        ("198.51.100.1, 203.0.113.999", PROXY),
        ("198.51.100.1, unknown, 10.0.0.2", PROXY),
        ("198.51.100.1, " + "10.0.0.2, " * 30 + "10.0.0.2", PROXY),
    ],
)
def test_the_address_is_the_nearest_that_is_not_a_proxy(chain: str, address: str) -> None:
    assert apply_policy(BEHIND_PROXY, "inside", peer=PROXY, x_forwarded_for=chain).address == address


# Undeclared proxies: recorded at most hourly, and for a limited number of addresses.


def send(transport: InProcessTransport, address: str, **headers: str) -> None:
    transport.address = address
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    assert transport.send("GET", "/api/", pairs).status == 200
    drain_tasks(transport)


def recorded(data: Path) -> dict[str, int]:
    return {row.address: row.seen_at for row in rows(data, undeclared_proxies)}


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"])
def test_each_forwarded_header_is_recorded(
    transport: InProcessTransport, data: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with caplog.at_level(logging.WARNING):
        send(transport, "10.0.0.7", **{name: "https"})
    assert recorded(data) == {"10.0.0.7": int(clock.now())}
    assert "ignoring forwarded headers from 10.0.0.7" in caplog.text


def test_other_requests_and_declared_proxies_are_not_recorded(
    data: Path, settings: Settings, start_console: StartConsole
) -> None:
    transport = start_console(replace(settings, proxies=BEHIND_PROXY.proxies))
    send(transport, "192.0.2.7", X_Request_ID="one")
    send(transport, "10.0.0.7", X_Forwarded_For="192.0.2.1")
    assert recorded(data) == {}


def test_an_address_is_recorded_once_an_hour(
    transport: InProcessTransport, data: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    first = int(clock.now())
    for later, seen_at in ((0, first), (3599, first), (3600, first + 3600)):
        clock.moment = first + later
        send(transport, "10.0.0.7", X_Forwarded_For="192.0.2.1")
        assert recorded(data) == {"10.0.0.7": seen_at}
    assert caplog.text.count("ignoring forwarded headers from 10.0.0.7") == 2


def test_the_number_of_recorded_addresses_is_limited(
    transport: InProcessTransport, data: Path, clock: FakeClock
) -> None:
    for number in range(MAX_ADDRESSES + 10):
        send(transport, f"198.51.100.{number}", X_Forwarded_For="192.0.2.1")
    assert len(recorded(data)) == MAX_ADDRESSES
    clock.moment += 3600
    send(transport, "203.0.113.1", X_Forwarded_For="192.0.2.1")
    assert "203.0.113.1" in recorded(data)


def test_records_older_than_a_day_are_deleted(transport: InProcessTransport, data: Path, clock: FakeClock) -> None:
    send(transport, "10.0.0.7", X_Forwarded_For="192.0.2.1")
    clock.moment += 24 * 3600
    send(transport, "10.0.0.8", X_Forwarded_For="192.0.2.1")
    assert set(recorded(data)) == {"10.0.0.8"}

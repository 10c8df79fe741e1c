"""Which URLs login accepts as `region`, and how it rejects others."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.identity_providers import LOCAL_REGION, IdentityProviders
from cloudconsole.spec.errors import UnknownRegion
from tests.harness import ApiClient
from tests.server.http.conftest import StartConsole

ORIGIN: Final = "http://127.0.0.1:8000"
IDENTITY: Final = "https://identity.example.com:5000/keystone/v3"

BY_DEFAULT: Final = Settings(data=Path())
CONFIGURED: Final = replace(
    BY_DEFAULT, identity=(IdentityEndpoint(IDENTITY), IdentityEndpoint("http://kelvin.example"))
)
ANY_REGION: Final = replace(BY_DEFAULT, any_region=True)


def is_accepted(settings: Settings, region: str, origin: str | None = ORIGIN) -> bool:
    try:
        return IdentityProviders(settings).for_region(region, origin) == LOCAL_REGION
    except UnknownRegion:
        return False


@pytest.mark.parametrize(
    "path", ["", "/", "/v3", "/v3/", "/identity", "/identity/v3", "/any/where/at/all/"], ids=lambda path: path or "none"
)
@pytest.mark.parametrize("origin", [ORIGIN, "HTTP://127.0.0.1:8000"])
def test_every_url_on_our_own_origin_is_accepted(origin: str, path: str) -> None:
    assert is_accepted(BY_DEFAULT, origin + path)


@pytest.mark.parametrize(
    "region",
    [
        *("http://127.0.0.1/v3", "http://127.0.0.1:8001/v3", "http://127.0.0.1:80000/v3", "http://localhost:8000/v3"),
        *("http://127.0.0.1:8000.evil.example/v3", "http://evil.example/http://127.0.0.1:8000/v3"),
        *("http://user:secret@127.0.0.1:8000/v3", "http://127.0.0.1:8000@evil.example/v3"),
        *("http://127.0.0.1:8000/v3?", "http://127.0.0.1:8000/v3#", "http://127.0.0.1:8000\\@evil.example/v3"),
        *(" http://127.0.0.1:8000/v3", "http://127.0.0.1:8000/v3\n", "http://127.0.0.1:8000/" + "x" * 3000),
        *(f"{start}127.0.0.1:8000/v3" for start in ("https://", "//", "", "ftp://", "http:")),
        *("http:///v3", "RegionOne"),
    ],
)
def test_any_other_url_is_rejected(region: str) -> None:
    assert not is_accepted(BY_DEFAULT, region)
    assert is_accepted(ANY_REGION, region)


def test_without_a_known_origin_no_region_is_offered_or_accepted() -> None:
    assert not is_accepted(BY_DEFAULT, f"{ORIGIN}/v3", origin=None)
    assert IdentityProviders(BY_DEFAULT).offered(None) == []


@pytest.mark.parametrize(
    "region",
    [
        IDENTITY,
        "https://identity.example.com:5000/keystone",
        "https://identity.example.com:5000/keystone/v3/",
        "HTTPS://Identity.Example.COM.:5000/keystone/v3",
        "http://kelvin.example:80/v3/",
        f"{ORIGIN}/v3",
    ],
)
def test_a_configured_url_is_accepted_in_any_spelling(region: str) -> None:
    assert is_accepted(CONFIGURED, region)


@pytest.mark.parametrize(
    "region",
    [
        *("https://identity.example.com/keystone/v3", "http://identity.example.com:5000/keystone/v3"),
        *(
            f"https://identity.example.com:5000/{path}"
            for path in ("", "Keystone/v3", "keystone/v2.0", "keystone/v3/v3", "keystone/v3/auth")
        ),
        *("https://kelvin.example", "http://kelvin.example/elsewhere", "http://\N{KELVIN SIGN}elvin.example"),
    ],
)
def test_urls_similar_to_a_configured_one_are_rejected(region: str) -> None:
    assert not is_accepted(CONFIGURED, region)


@pytest.fixture
def with_identity(settings: Settings, start_console: StartConsole) -> ApiClient:
    return ApiClient(start_console(replace(settings, identity=CONFIGURED.identity)))


def test_configured_urls_are_offered_and_named_in_the_error(with_identity: ApiClient) -> None:
    assert with_identity.open().data["regions"] == [IDENTITY, "http://kelvin.example"]
    message = with_identity.login(region="https://elsewhere.example/v3").envelope["message"]
    assert IDENTITY in message
    assert "http://kelvin.example" in message
    assert "elsewhere" not in message


@pytest.mark.parametrize("origin", ["http://localhost", "http://[::1]:9"], ids=["name", "IPv6"])
def test_every_offered_url_is_accepted(origin: str) -> None:
    (region,) = IdentityProviders(BY_DEFAULT).offered(origin)
    assert is_accepted(BY_DEFAULT, region, origin)


def test_our_own_origin_is_the_public_origin(settings: Settings, start_console: StartConsole) -> None:
    settings = replace(settings, public_origin="https://console.example.com")
    client = ApiClient(start_console(settings, "http://console.example.com:8000"))
    origins = ("https://console.example.com", "https://console.example.com:443", "http://console.example.com:8000")
    assert [client.login(region=f"{origin}/v3").status for origin in origins] == [200, 200, 400]


def test_any_region_still_requires_a_region(settings: Settings, start_console: StartConsole) -> None:
    client = ApiClient(start_console(replace(settings, any_region=True)))
    assert client.login(region="").error == "missing_field"
    assert client.login(region="RegionOne").status == 200


def test_a_region_is_never_connected_to_or_resolved(
    anonymous_client: ApiClient, with_identity: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise AssertionError("the network was used")

    for name in ("socket.socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.create_connection"):
        monkeypatch.setattr(name, fail)
    assert anonymous_client.login(region="https://elsewhere.example/v3").error == "unknown_region"
    assert with_identity.login(region=IDENTITY).status == 200

"""Which URLs login accepts as `region`, and how it rejects others."""

from dataclasses import replace
from typing import Final

import pytest

from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from tests.harness import ApiClient, InProcessTransport
from tests.server.http.conftest import StartConsole

IDENTITY: Final = "https://identity.example.com:5000/keystone/v3"


def outcome(client: ApiClient, region: str) -> str:
    """`logged in` or the error."""
    reply = client.login(region=region)
    return "logged in" if reply.status == 200 else reply.error


@pytest.mark.parametrize(
    "region",
    [
        "http://127.0.0.1:8000/v3",
        "http://127.0.0.1:8000/v3/",
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8000/",
        "HTTP://127.0.0.1:8000/v3",
        "http://127.0.0.1:8000/identity",
        "http://127.0.0.1:8000/identity/v3",
        "http://127.0.0.1:8000/any/where/at/all/",
    ],
)
def test_every_url_on_our_own_origin_is_accepted(anonymous_client: ApiClient, region: str) -> None:
    assert outcome(anonymous_client, region) == "logged in"


@pytest.mark.parametrize(
    "region",
    [
        "http://127.0.0.1/v3",
        "http://127.0.0.1:8001/v3",
        "http://127.0.0.1:80000/v3",
        "https://127.0.0.1:8000/v3",
        "http://localhost:8000/v3",
        "http://127.0.0.1:8000.evil.example/v3",
        "http://evil.example/v3",
        "http://evil.example/http://127.0.0.1:8000/v3",
        "http://user@127.0.0.1:8000/v3",
        "http://user:secret@127.0.0.1:8000/v3",
        "http://127.0.0.1:8000@evil.example/v3",
        "http://127.0.0.1:8000/v3?x=1",
        "http://127.0.0.1:8000/v3?",
        "http://127.0.0.1:8000/v3#x",
        "http://127.0.0.1:8000/v3#",
        "http://127.0.0.1:8000\\@evil.example/v3",
        " http://127.0.0.1:8000/v3",
        "http://127.0.0.1:8000/v3\n",
        "http://127.0.0.1:8000/\x00",
        "//127.0.0.1:8000/v3",
        "127.0.0.1:8000/v3",
        "/v3",
        "ftp://127.0.0.1:8000/v3",
        "http:127.0.0.1:8000/v3",
        "http:///v3",
        "http://[::1/v3",
        "RegionOne",
        "{region}",
        "%s%n",
        "http://127.0.0.1:8000/" + "x" * 3000,
    ],
)
def test_any_other_url_is_rejected(anonymous_client: ApiClient, region: str) -> None:
    assert outcome(anonymous_client, region) == "unknown_region"


@pytest.fixture
def with_identity(settings: Settings, start_console: StartConsole) -> ApiClient:
    return ApiClient(
        start_console(
            replace(settings, identity=(IdentityEndpoint(IDENTITY), IdentityEndpoint("http://second.example")))
        )
    )


@pytest.mark.parametrize(
    "region",
    [
        IDENTITY,
        "https://identity.example.com:5000/keystone",
        "https://identity.example.com:5000/keystone/",
        "https://identity.example.com:5000/keystone/v3/",
        "HTTPS://Identity.Example.COM:5000/keystone/v3",
        "https://identity.example.com.:5000/keystone/v3",
        "http://second.example",
        "http://second.example:80",
        "http://second.example:80/v3/",
        "http://127.0.0.1:8000/v3",
    ],
)
def test_a_configured_url_is_accepted_in_any_spelling(with_identity: ApiClient, region: str) -> None:
    assert outcome(with_identity, region) == "logged in"


@pytest.mark.parametrize(
    "region",
    [
        "https://identity.example.com/keystone/v3",
        "http://identity.example.com:5000/keystone/v3",
        "https://identity.example.com:5000/Keystone/v3",
        "https://identity.example.com:5000/keystone/V3",
        "https://identity.example.com:5000/keystone/v2.0",
        "https://identity.example.com:5000/keystone/v3/v3",
        "https://identity.example.com:5000/",
        "https://identity.example.com:5000/keystone/v3/auth",
        "https://admin@identity.example.com:5000/keystone/v3",
        "https://identity.example.com:5000/keystone/v3?a=b",
        "https://identity.example.com:5000/keystone/v3#a",
        "https://second.example",
        "http://second.example:443",
        "http://second.example/elsewhere",
    ],
)
def test_urls_similar_to_a_configured_one_are_rejected(with_identity: ApiClient, region: str) -> None:
    assert outcome(with_identity, region) == "unknown_region"


def test_a_lookalike_letter_makes_a_different_url(settings: Settings, start_console: StartConsole) -> None:
    client = ApiClient(start_console(replace(settings, identity=(IdentityEndpoint("http://kelvin.example"),))))
    assert outcome(client, "http://\N{KELVIN SIGN}elvin.example") == "unknown_region"


def test_the_error_names_the_field_and_our_own_url(anonymous_client: ApiClient) -> None:
    reply = anonymous_client.login(region="https://elsewhere.example/v3")
    assert (reply.status, reply.error, reply.envelope["field"]) == (400, "unknown_region", "region")
    assert "http://127.0.0.1:8000/v3" in reply.envelope["message"]


def test_the_error_lists_the_configured_urls(with_identity: ApiClient) -> None:
    message = with_identity.login(region="https://elsewhere.example/v3").envelope["message"]
    assert IDENTITY in message
    assert "http://second.example" in message


def test_the_error_does_not_echo_the_region(anonymous_client: ApiClient) -> None:
    assert b"elsewhere" not in anonymous_client.login(region="https://elsewhere.example/v3").body


def test_welcome_lists_the_accepted_urls(anonymous_client: ApiClient, with_identity: ApiClient) -> None:
    assert anonymous_client.open().data["regions"] == ["http://127.0.0.1:8000/v3"]
    assert with_identity.open().data["regions"] == [IDENTITY, "http://second.example"]


@pytest.mark.parametrize("host", ["localhost:8000", "localhost", "[::1]:9", "127.0.0.1:80"])
def test_every_url_listed_by_welcome_is_accepted(settings: Settings, start_console: StartConsole, host: str) -> None:
    client = ApiClient(start_console(settings, f"http://{host}"))
    for region in client.open().data["regions"]:
        assert outcome(client, region) == "logged in"


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("https://console.example.com/v3", "logged in"),
        ("https://console.example.com:443/v3", "logged in"),
        ("http://console.example.com:8000/v3", "unknown_region"),
        ("https://console.example.com:8000/v3", "unknown_region"),
        ("http://console.example.com/v3", "unknown_region"),
    ],
)
def test_our_own_origin_is_the_public_origin(
    settings: Settings, start_console: StartConsole, region: str, expected: str
) -> None:
    settings = replace(settings, public_origin="https://console.example.com")
    client = ApiClient(start_console(settings, "http://console.example.com:8000"))
    assert outcome(client, region) == expected


@pytest.mark.parametrize(
    "region", ["https://elsewhere.example/v3", "RegionOne", "http://user@host/?q#f", "/", "ü", "x" * 5000]
)
def test_any_region_accepts_every_region(settings: Settings, start_console: StartConsole, region: str) -> None:
    assert outcome(ApiClient(start_console(replace(settings, any_region=True))), region) == "logged in"


def test_any_region_still_requires_a_region(settings: Settings, start_console: StartConsole) -> None:
    assert outcome(ApiClient(start_console(replace(settings, any_region=True))), "") == "missing_field"


def test_a_region_is_never_connected_to_or_resolved(
    anonymous_client: ApiClient, with_identity: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise AssertionError("the network was used")

    for name in ("socket.socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.create_connection"):
        monkeypatch.setattr(name, fail)
    assert outcome(anonymous_client, "https://elsewhere.example/v3") == "unknown_region"
    assert outcome(with_identity, IDENTITY) == "logged in"


def test_an_unknown_region_is_not_logged(anonymous_client: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    anonymous_client.login(region="https://elsewhere.example/\r\nforged: line")
    assert "elsewhere" not in caplog.text
    assert "forged" not in caplog.text


def test_the_last_of_repeated_regions_is_used(transport: InProcessTransport, anonymous_client: ApiClient) -> None:
    anonymous_client.open()
    form = f"csrfmiddlewaretoken={anonymous_client.token}&username=demo&password=console-demo"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    good, bad = "region=http://127.0.0.1:8000/v3", "region=https://elsewhere.example"
    assert (
        anonymous_client.send("POST", "/auth/login/", headers, f"{form}&{good}&{bad}".encode()).error
        == "unknown_region"
    )
    assert anonymous_client.send("POST", "/auth/login/", headers, f"{form}&{bad}&{good}".encode()).status == 200

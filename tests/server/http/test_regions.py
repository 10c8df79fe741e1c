"""Which addresses login accepts as `region`, and what it says about others."""

from dataclasses import replace
from typing import Final

import pytest

from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from tests.harness import Caller, InProcess
from tests.server.http.conftest import StartConsole

IDENTITY: Final = "https://identity.example.com:5000/keystone/v3"


def outcome(caller: Caller, region: str) -> str:
    """`let in` or the refusal."""
    reply = caller.login(region=region)
    return "let in" if reply.status == 200 else reply.error


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
def test_every_address_on_our_own_origin_is_accepted(visitor: Caller, region: str) -> None:
    assert outcome(visitor, region) == "let in"


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
def test_any_other_address_is_refused(visitor: Caller, region: str) -> None:
    assert outcome(visitor, region) == "unknown_region"


@pytest.fixture
def with_identity(settings: Settings, start_console: StartConsole) -> Caller:
    return Caller(
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
def test_a_configured_address_is_accepted_however_it_is_written(with_identity: Caller, region: str) -> None:
    assert outcome(with_identity, region) == "let in"


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
def test_nothing_near_a_configured_address_is_accepted(with_identity: Caller, region: str) -> None:
    assert outcome(with_identity, region) == "unknown_region"


def test_a_letter_that_only_looks_like_one_is_another_address(settings: Settings, start_console: StartConsole) -> None:
    caller = Caller(start_console(replace(settings, identity=(IdentityEndpoint("http://kelvin.example"),))))
    assert outcome(caller, "http://\N{KELVIN SIGN}elvin.example") == "unknown_region"


def test_the_refusal_names_the_field_and_our_own_address(visitor: Caller) -> None:
    reply = visitor.login(region="https://elsewhere.example/v3")
    assert (reply.status, reply.error, reply.envelope["field"]) == (400, "unknown_region", "region")
    assert "http://127.0.0.1:8000/v3" in reply.envelope["message"]


def test_the_refusal_lists_the_configured_addresses(with_identity: Caller) -> None:
    message = with_identity.login(region="https://elsewhere.example/v3").envelope["message"]
    assert IDENTITY in message
    assert "http://second.example" in message


def test_the_refusal_does_not_repeat_what_was_sent(visitor: Caller) -> None:
    assert b"elsewhere" not in visitor.login(region="https://elsewhere.example/v3").body


def test_the_opening_lists_the_same_addresses(visitor: Caller, with_identity: Caller) -> None:
    assert visitor.open().data["regions"] == ["http://127.0.0.1:8000/v3"]
    assert with_identity.open().data["regions"] == [IDENTITY, "http://second.example"]


@pytest.mark.parametrize("host", ["localhost:8000", "localhost", "[::1]:9", "127.0.0.1:80"])
def test_every_address_that_the_opening_lists_is_accepted(
    settings: Settings, start_console: StartConsole, host: str
) -> None:
    caller = Caller(start_console(settings, f"http://{host}"))
    for region in caller.open().data["regions"]:
        assert outcome(caller, region) == "let in"


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("https://console.example.com/v3", "let in"),
        ("https://console.example.com:443/v3", "let in"),
        ("http://console.example.com:8000/v3", "unknown_region"),
        ("https://console.example.com:8000/v3", "unknown_region"),
        ("http://console.example.com/v3", "unknown_region"),
    ],
)
def test_our_own_origin_is_the_public_one(
    settings: Settings, start_console: StartConsole, region: str, expected: str
) -> None:
    settings = replace(settings, public_origin="https://console.example.com")
    caller = Caller(start_console(settings, "http://console.example.com:8000"))
    assert outcome(caller, region) == expected


@pytest.mark.parametrize(
    "region", ["https://elsewhere.example/v3", "RegionOne", "http://user@host/?q#f", "/", "ü", "x" * 5000]
)
def test_any_region_accepts_all(settings: Settings, start_console: StartConsole, region: str) -> None:
    assert outcome(Caller(start_console(replace(settings, any_region=True))), region) == "let in"


def test_any_region_still_wants_one(settings: Settings, start_console: StartConsole) -> None:
    assert outcome(Caller(start_console(replace(settings, any_region=True))), "") == "missing_field"


def test_a_region_is_never_dialled_or_resolved(
    visitor: Caller, with_identity: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise AssertionError("the network was used")

    for name in ("socket.socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.create_connection"):
        monkeypatch.setattr(name, refuse)
    assert outcome(visitor, "https://elsewhere.example/v3") == "unknown_region"
    assert outcome(with_identity, IDENTITY) == "let in"


def test_an_unknown_region_is_not_logged(visitor: Caller, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    visitor.login(region="https://elsewhere.example/\r\nforged: line")
    assert "elsewhere" not in caplog.text
    assert "forged" not in caplog.text


def test_of_a_repeated_region_the_last_counts(wire: InProcess, visitor: Caller) -> None:
    visitor.open()
    form = f"csrfmiddlewaretoken={visitor.token}&username=demo&password=console-demo"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    good, bad = "region=http://127.0.0.1:8000/v3", "region=https://elsewhere.example"
    assert visitor.send("POST", "/auth/login/", headers, f"{form}&{good}&{bad}".encode()).error == "unknown_region"
    assert visitor.send("POST", "/auth/login/", headers, f"{form}&{bad}&{good}".encode()).status == 200

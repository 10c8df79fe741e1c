"""Normalising of console base URLs."""

import pytest

from cloudconsole.spec.console_url import normalise_base_url


@pytest.mark.parametrize(
    ("given", "normalised"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("HTTPS://Console.Example.COM/", "https://console.example.com"),
        ("https://console.example.com:443", "https://console.example.com"),
        ("http://console.example.com:443", "http://console.example.com:443"),
        ("http://host/Path/", "http://host/Path"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://[0:0::1]", "http://[::1]"),
        ("http://bücher.example", "http://xn--bcher-kva.example"),
        # A Cyrillic letter that looks like a Latin one.
        ("http://аpple.example", "http://xn--pple-43d.example"),
    ],
)
def test_base_url_is_normalised(given: str, normalised: str) -> None:
    assert normalise_base_url(given) == normalised
    assert normalise_base_url(normalised) == normalised


@pytest.mark.parametrize(
    "given",
    [
        "",
        "console.example.com",
        "ftp://host",
        "http://",
        "http://:80",
        "http://host:0",
        "http://host:99999",
        "http://host:x",
        "http://user@host",
        "http://user:password@host",
        "http://host/?a=1",
        "http://host/#a",
        "http://ho st",
        "http://host\n",
        "http://[::1",
        "http://[v1.x]",
        "http://a..b",
        "http://" + "a" * 64,
        "http://\u202ehost",
        "http://\udcff",
    ],
)
def test_invalid_base_url_is_rejected(given: str) -> None:
    with pytest.raises(ValueError):
        normalise_base_url(given)

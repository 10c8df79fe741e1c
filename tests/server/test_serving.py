"""What the server adds to every answer."""

import pytest

from cloudconsole.server.serving import https_headers
from cloudconsole.server.settings_reading import load_settings

ORIGIN = "https://console.example.com"
CERTIFICATE = {"tls_certificate": "certificate.pem", "tls_key": "key.pem"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"public_origin": ORIGIN}, "max-age=31536000"),
        ({"public_origin": ORIGIN, "proxies": "127.0.0.1", "hsts": "600"}, "max-age=600"),
        ({"host": "0.0.0.0", **CERTIFICATE}, "max-age=31536000"),
        ({"public_origin": ORIGIN, "hsts": "0"}, None),
        ({"public_origin": "http://console.example.com"}, None),
        ({"public_origin": "https://localhost:8000"}, None),
        ({"host": "0.0.0.0"}, None),
        ({"proxies": "127.0.0.1"}, None),
        (CERTIFICATE, None),
        ({}, None),
    ],
)
def test_browsers_are_kept_to_https_where_all_come_by_it(given: dict[str, str], told: str | None) -> None:
    assert dict(https_headers(load_settings({}, given))).get("Strict-Transport-Security") == told

"""HSTS headers, connection limits, socket options and thread priorities of a worker."""

import os
import resource
import socket
import sys
import threading

import pytest

from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.runtime.worker import MAX_UNSENT, OTHER_FILES, bind, connection_limit, https_headers
from cloudconsole.server.writer import NICENESS, lower_priority

ORIGIN = "https://console.example.com"
CERTIFICATE = {"tls_certificate": "certificate.pem", "tls_key": "key.pem"}


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ({"public_origin": ORIGIN}, "max-age=31536000"),
        ({"public_origin": ORIGIN, "proxies": "127.0.0.1", "hsts": "600"}, "max-age=600"),
        ({"host": "0.0.0.0", **CERTIFICATE}, "max-age=31536000"),
        ({"public_origin": ORIGIN, "hsts_include_subdomains": "true"}, "max-age=31536000; includeSubDomains"),
        ({"public_origin": ORIGIN, "hsts": "0"}, None),
        ({"public_origin": "http://console.example.com"}, None),
        ({"public_origin": "https://localhost:8000"}, None),
        ({"host": "0.0.0.0"}, None),
        ({"proxies": "127.0.0.1"}, None),
        (CERTIFICATE, None),
        ({}, None),
    ],
)
def test_hsts_is_sent_if_every_client_uses_https(given: dict[str, str], header: str | None) -> None:
    assert dict(https_headers(load_settings({}, given))).get("Strict-Transport-Security") == header


@pytest.mark.parametrize(
    ("soft", "hard", "limit", "files"),
    [
        pytest.param(500 + OTHER_FILES, 1000, 500, None, id="enough"),
        pytest.param(499 + OTHER_FILES, 1000, 500, 500 + OTHER_FILES, id="raised"),
        pytest.param(300, resource.RLIM_INFINITY, 500, 500 + OTHER_FILES, id="raised without a hard limit"),
        pytest.param(300, 400, 400 - OTHER_FILES, 400, id="raised to the hard limit"),
        pytest.param(50, 50, 1, 50, id="at least one"),
        pytest.param(resource.RLIM_INFINITY, resource.RLIM_INFINITY, 500, None, id="unlimited"),
    ],
)
def test_file_limit_is_raised_for_connections_if_possible(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    soft: int,
    hard: int,
    limit: int,
    files: int | None,
) -> None:
    changes = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, limits: changes.append(limits))
    assert connection_limit(500) == limit
    assert changes == ([] if files is None else [(files, hard)])
    assert ("max_connections" in caplog.text) == (limit < 500)


@pytest.mark.skipif(sys.platform != "linux", reason="the option is not available elsewhere")
def test_connections_inherit_the_limit_of_unsent_data() -> None:
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == MAX_UNSENT


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no separate priorities elsewhere")
def test_lower_priority_affects_only_its_own_thread() -> None:
    found: list[int] = []

    def work() -> None:
        lower_priority()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    here = os.getpriority(os.PRIO_PROCESS, 0)
    assert found == [min(19, here + NICENESS)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == here

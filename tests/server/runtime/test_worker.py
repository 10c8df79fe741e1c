"""What the server adds to every answer, and what it asks of the system."""

import os
import socket
import subprocess
import sys
import threading

import pytest

from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.runtime.worker import MAX_UNSENT, OTHER_FILES, bind, https_headers
from cloudconsole.server.writer import NICENESS, lower_priority

ORIGIN = "https://console.example.com"
CERTIFICATE = {"tls_certificate": "certificate.pem", "tls_key": "key.pem"}


@pytest.mark.parametrize(
    ("given", "told"),
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
def test_browsers_are_kept_to_https_where_all_come_by_it(given: dict[str, str], told: str | None) -> None:
    assert dict(https_headers(load_settings({}, given))).get("Strict-Transport-Security") == told


ASK_FOR_ROOM = """
import resource, sys
from cloudconsole.server.runtime.worker import connection_limit
least, most, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))
print(connection_limit(wanted), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(
    ("least", "most", "wanted", "room", "files"),
    [
        pytest.param(900, 1000, 500, 500, 900, id="enough"),
        pytest.param(300, 1000, 500, 500, 500 + OTHER_FILES, id="raised"),
        pytest.param(300, 400, 500, 400 - OTHER_FILES, 400, id="raised as far as it goes"),
        pytest.param(50, 50, 500, 1, 50, id="hardly any"),
    ],
)
def test_room_is_made_for_connections_as_far_as_the_system_lets_us(
    least: int, most: int, wanted: int, room: int, files: int
) -> None:
    command = [sys.executable, "-c", ASK_FOR_ROOM, str(least), str(most), str(wanted)]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    assert asked.stdout.split() == [str(room), str(files)]
    assert ("max_connections" in asked.stderr) == (room < wanted)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system decides")
def test_connections_inherit_how_much_the_system_keeps_for_them() -> None:
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == MAX_UNSENT


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities of their own elsewhere")
def test_a_thread_that_gives_way_is_behind_all_others() -> None:
    found: list[int] = []

    def look() -> None:
        lower_priority()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    here = os.getpriority(os.PRIO_PROCESS, 0)
    assert found == [min(19, here + NICENESS)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == here

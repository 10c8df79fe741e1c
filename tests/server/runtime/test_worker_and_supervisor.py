"""A worker, its dependencies and its supervisor: limits, headers, frozen workers, messages to the service manager."""

import os
import resource
import socket
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from cloudconsole.core.private_api_check import IncompatibleDependency, require_names
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.runtime.supervisor import POLL_SECONDS, FrozenWorkerDetector
from cloudconsole.server.runtime.systemd import Notifier
from cloudconsole.server.runtime.worker import MAX_UNSENT, OTHER_FILES, bind, connection_limit, https_headers
from cloudconsole.server.writer import NICENESS, lower_priority
from cloudconsole.store.base import StoreError
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PSYCOPG_VERSIONS, PostgresStore

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
        *(({"public_origin": origin}, None) for origin in ("http://console.example.com", "https://localhost:8000")),
        *((given, None) for given in ({"host": "0.0.0.0"}, {"proxies": "127.0.0.1"}, CERTIFICATE, {})),
    ],
)
def test_hsts_is_sent_if_every_client_uses_https(given: dict[str, str], header: str | None) -> None:
    line = f"strict-transport-security: {header}\r\n" if header else ""
    assert https_headers(load_settings({}, given)) == line.encode()


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
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = priority()
    with ThreadPoolExecutor(1, initializer=lower_priority) as threads:
        assert threads.submit(priority).result() == min(19, before + NICENESS)
    assert priority() == before


def test_a_missing_attribute_is_named() -> None:
    renamed = {psycopg.Connection: ("pgconn", "queue"), psycopg.Cursor: ("is_disconnected",)}
    with pytest.raises(IncompatibleDependency, match=r"lacks Connection\.queue, Cursor\.is_disconnected"):
        require_names("psycopg", PSYCOPG_VERSIONS, (), renamed)


def test_postgresql_store_reports_a_missing_method(monkeypatch: pytest.MonkeyPatch) -> None:
    address = Dsn("postgresql://127.0.0.1/console")
    PostgresStore(address)
    owner = next(base for base in psycopg.Connection.__mro__ if "_connect_gen" in vars(base))
    monkeypatch.delattr(owner, "_connect_gen")
    with pytest.raises(StoreError, match=r"lacks Connection\._connect_gen"):
        PostgresStore(address)


def test_suggested_versions_are_the_declared_range() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert f"psycopg[binary]{PSYCOPG_VERSIONS}" in extras["postgres"]


TIMEOUT = 3
POLLS = round(TIMEOUT / POLL_SECONDS)


def test_worker_without_heartbeat_is_frozen_after_the_timeout() -> None:
    detector = FrozenWorkerDetector(TIMEOUT)
    results = [detector.frozen({0: 7, 1: poll + 1}) for poll in range(POLLS + 1)]
    assert results == [[]] * POLLS + [[0]]


@pytest.mark.parametrize(
    ("timeout", "heartbeat"),
    [(TIMEOUT, lambda poll: 1 + poll // POLLS), (TIMEOUT, lambda _poll: 0), (0, lambda _poll: 1)],
    ids=["heartbeats in time", "before the first heartbeat", "detection disabled"],
)
def test_worker_is_not_frozen(timeout: int, heartbeat: Callable[[int], int]) -> None:
    detector = FrozenWorkerDetector(timeout)
    assert [detector.frozen({0: heartbeat(poll)}) for poll in range(5 * POLLS)] == [[]] * (5 * POLLS)


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """The address of a service manager and the socket on which it receives."""
    address = f"@cloudconsole-{uuid4().hex}" if request.param == "abstract" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0{address[1:]}" if request.param == "abstract" else address)
        receiver.setblocking(False)
        yield address, receiver


def received(receiver: socket.socket) -> list[str]:
    messages = []
    while True:
        try:
            messages.append(receiver.recv(4096).decode())
        except BlockingIOError:
            return messages


def test_every_change_of_state_is_sent_once(manager: tuple[str, socket.socket]) -> None:
    address, receiver = manager
    notifier = Notifier(address)
    notifier.reloading()
    for change in (notifier.ready, notifier.reloading, notifier.ready, notifier.stopping):
        change()
        change()
    notifier.ready()
    notifier.reloading()
    first, reloading, second, stopping = received(receiver)
    assert (first, second, stopping) == ("READY=1", "READY=1", "STOPPING=1")
    state, _, moment = reloading.partition("\nMONOTONIC_USEC=")
    assert (state, moment.isdigit()) == ("RELOADING=1", True)


def test_ping_is_sent_after_half_the_watchdog_interval(manager: tuple[str, socket.socket]) -> None:
    address, receiver = manager
    now = 100.0
    notifier = Notifier(address, 30, lambda: now)
    sent = []
    for now in (114.9, 115.0, 129.9, 130.0):  # noqa: B007 - the notifier reads it
        notifier.ping()
        sent.append(received(receiver))
    assert sent == [[], ["WATCHDOG=1"], [], ["WATCHDOG=1"]]


@pytest.mark.parametrize(("process", "pings"), [("", 1), ("ours", 1), ("1", 0)])
def test_variables_are_read_and_removed(manager: tuple[str, socket.socket], process: str, pings: int) -> None:
    address, receiver = manager
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1", "HOME": "/"}
    if process:
        environment["WATCHDOG_PID"] = process.replace("ours", str(os.getpid()))
    notifier = Notifier.from_environment(environment)
    sent: list[str] = []
    while len(sent) < pings:
        notifier.ping()
        sent += received(receiver)
    notifier.ping()
    assert set(sent + received(receiver)) == ({"WATCHDOG=1"} if pings else set())
    assert environment == {"HOME": "/"}


def test_nothing_is_sent_without_a_service_manager(caplog: pytest.LogCaptureFixture) -> None:
    notifier = Notifier.from_environment({})
    notifier.ready()
    notifier.ping()
    assert not caplog.records


def test_unreachable_service_manager_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Notifier(str(tmp_path / "gone")).ready()
    assert ["cannot notify the service manager" in record.getMessage() for record in caplog.records] == [True]

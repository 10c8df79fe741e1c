"""A test console in this process, without a socket."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cloudconsole.testing.flags import serve_flags
from cloudconsole.testing.server import CALL_SECONDS, ConsoleServer, ServerNotStarted

if TYPE_CHECKING:
    import httpx2

ADDRESS: Final = "http://localhost"
SERVER_MODULE: Final = "cloudconsole.server.in_process"
"""Imported by name: the plain install does not have the server."""


class InProcessConsole(ConsoleServer):
    """A test console that only its own clients and transports reach."""

    def __init__(self, app: Any, data: Path, accounts: Mapping[str, str]) -> None:
        super().__init__(ADDRESS, f"{ADDRESS}/v3", data, accounts)
        self._app = app

    def transport(self) -> httpx2.BaseTransport:
        """Return a transport to this console for a client of httpx2."""
        from cloudconsole.testing.in_process_transport import InProcessTransport

        return InProcessTransport(self._app)

    def async_transport(self) -> httpx2.AsyncBaseTransport:
        """Return a transport to this console for an asynchronous client of httpx2, in any event loop."""
        from cloudconsole.testing.in_process_transport import AsyncInProcessTransport

        return AsyncInProcessTransport(self._app)

    def _exchange(self, method: str, path: str, body: bytes) -> bytes:
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        response = self._app.submit(method, path, headers, body).result(CALL_SECONDS)
        content: bytes = response.body
        return content


@contextmanager
def in_process_console(
    *,
    cloud: str | Path | None = None,
    accounts: Mapping[str, str] | None = None,
    clock: datetime | str | None = None,
    clock_fixed: bool = False,
    seed: str | int | None = None,
    flags: Sequence[str] = (),
) -> Iterator[ConsoleServer]:
    """Run a console in a thread of this process, and clean up afterwards; it starts faster than `running_console`.

    Nothing listens at its address: use its `client()` and `async_client()`, or its `transport()` and
    `async_transport()` with your own client of httpx2.
    """
    chosen = serve_flags(cloud=cloud, accounts=accounts, clock=clock, clock_fixed=clock_fixed, seed=seed, flags=flags)
    try:
        server = import_module(SERVER_MODULE)
    except ImportError as problem:
        raise ServerNotStarted(f"install cloudconsole[server], which test consoles need: {problem}") from problem
    with tempfile.TemporaryDirectory(prefix="cloudconsole-") as directory:
        data = Path(directory) / "data"
        try:
            app, known = server.start(chosen, data)
        except server.ARGUMENT_ERRORS as problem:
            raise ValueError(f"cloudconsole: {problem}") from problem
        except server.START_ERRORS as problem:
            raise ServerNotStarted(f"cloudconsole: {problem}") from problem
        try:
            yield InProcessConsole(app, data, accounts or known)
        finally:
            app.close()

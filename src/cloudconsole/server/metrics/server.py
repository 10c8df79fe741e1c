"""Minimal HTTP server for the metrics, in a separate process."""

import asyncio
import logging
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Final

log = logging.getLogger(__name__)

PATH: Final = "/metrics"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
CLIENT_SECONDS: Final = 30
"""Timeout for a whole exchange, until the client has read the response."""
MAX_CLIENTS: Final = 50
MAX_HEAD_BYTES: Final = 16 * 1024


class MetricsServer:
    """Serves `GET /metrics`; one request per connection, limited in size and time."""

    def __init__(self, page: Callable[[], str]) -> None:
        self._page = page
        self._clients = 0
        # One thread, so that slow counts never run concurrently.
        self._thread = ThreadPoolExecutor(1, "metrics")

    async def serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._handle, sock=listener, limit=MAX_HEAD_BYTES)
        async with server:
            await server.serve_forever()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients += 1
        try:
            if self._clients <= MAX_CLIENTS:
                async with asyncio.timeout(CLIENT_SECONDS):
                    writer.write(await self._respond(reader))
                    writer.close()
                    await writer.wait_closed()
        except (TimeoutError, OSError):
            log.debug("a client was too slow or disconnected")
        finally:
            self._clients -= 1
            writer.transport.abort()

    async def _respond(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, version = head.partition(b"\r\n")[0].decode("ascii").split(" ")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            return _response(HTTPStatus.BAD_REQUEST)
        if not version.startswith("HTTP/1."):
            return _response(HTTPStatus.BAD_REQUEST)
        if target.partition("?")[0] != PATH:
            return _response(HTTPStatus.NOT_FOUND)
        if method not in ("GET", "HEAD"):
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "Allow: GET, HEAD\r\n")
        try:
            text = await asyncio.get_running_loop().run_in_executor(self._thread, self._page)
        except Exception:
            log.exception("could not render the metrics")
            return _response(HTTPStatus.INTERNAL_SERVER_ERROR)
        return _response(HTTPStatus.OK, text=text, content_type=CONTENT_TYPE, with_body=method == "GET")


def _response(
    status: HTTPStatus,
    extra_headers: str = "",
    *,
    text: str | None = None,
    content_type: str = "text/plain; charset=utf-8",
    with_body: bool = True,
) -> bytes:
    body = (f"{status.phrase}\n" if text is None else text).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"{extra_headers}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")

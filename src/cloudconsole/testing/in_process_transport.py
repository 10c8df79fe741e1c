"""Transports of httpx2 to a console in this process."""

from concurrent.futures import CancelledError, Future
from typing import Any

import anyio.to_thread
import httpx2


class _Transport:
    def __init__(self, app: Any) -> None:
        self._app = app

    def _submit(self, request: httpx2.Request, body: bytes) -> "Future[Any]":
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        submitted: Future[Any] = self._app.submit(request.method, request.url.raw_path.decode("ascii"), headers, body)
        return submitted

    def _result(self, future: "Future[Any]", request: httpx2.Request) -> httpx2.Response:
        try:
            response = future.result(request.extensions.get("timeout", {}).get("read"))
        except (TimeoutError, CancelledError):
            self._app.cancel(future)
            raise httpx2.ReadTimeout("no response in time", request=request) from None
        if response is None:
            raise httpx2.RemoteProtocolError("the console closed the connection", request=request)
        return httpx2.Response(response.status, headers=response.headers, content=response.body)


class InProcessTransport(_Transport, httpx2.BaseTransport):
    """Transport of a synchronous client."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._result(self._submit(request, request.read()), request)


class AsyncInProcessTransport(_Transport, httpx2.AsyncBaseTransport):
    """Transport of an asynchronous client; a worker thread waits, so that it works with any event loop."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        future = self._submit(request, await request.aread())
        try:
            return await anyio.to_thread.run_sync(self._result, future, request, abandon_on_cancel=True)
        finally:
            # If this task is cancelled, its worker thread must end, too.
            self._app.cancel(future)

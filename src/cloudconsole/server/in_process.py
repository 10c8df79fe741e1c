"""A console in test mode without a socket: requests are submitted to its event loop, which runs in a thread."""

import asyncio
import threading
from argparse import Namespace
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

from typing_extensions import override

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.core.private_api_check import IncompatibleDependency
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.server.app import Console
from cloudconsole.server.commands.serve import add_arguments, load_initial_cloud, read_initial_cloud
from cloudconsole.server.commands.test_mode_flags import read_test_runtime
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS, SettingError, Settings
from cloudconsole.server.extensions import load_plugins
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.server.http.response import render
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.base import StoreError
from cloudconsole.store.sqlite.store import prepare

ARGUMENT_ERRORS: Final = (SettingError, OperatorError)
START_ERRORS: Final = (StoreError, IncompatibleDependency)

HeaderPairs = list[tuple[bytes, bytes]]


class RenderedResponse(NamedTuple):
    status: int
    headers: HeaderPairs
    body: bytes


def start(flags: Sequence[str], data: Path) -> "tuple[InProcessServer, dict[str, str]]":
    """Start a console with these flags of `serve`; return it with the passwords of its accounts, if it is the sample.

    Settings in the environment belong to other consoles, so they are ignored.
    """
    arguments = _parse(flags)
    chosen = {name: getattr(arguments, name) for name in ("config", *SETTINGS)}
    if chosen["database"] is not None or chosen["data"] is not None:
        raise SettingError("a console in this process has a temporary store: remove data and database")
    settings = load_settings({}, chosen, {"data": data, "access_log": False})
    runtime = read_test_runtime(arguments, settings)
    load_plugins(settings)
    cloud = read_initial_cloud(arguments, settings)
    prepare(settings.data, test_mode=True)
    if cloud is not None:
        load_initial_cloud(cloud, settings, int(runtime.clock.now()))
    runtime.begin(settings.data)
    passwords = dict(SAMPLE_PASSWORDS) if cloud is not None and cloud.is_sample else {}
    return InProcessServer(settings, runtime), passwords


class _Parser(Parser):
    @override
    def error(self, message: str) -> NoReturn:
        raise SettingError(message)


def _parse(flags: Sequence[str]) -> Namespace:
    parser = _Parser(prog="cloudconsole serve")
    add_arguments(parser)
    return parser.parse_args(list(flags))


class InProcessServer:
    """Runs a console's event loop in a thread until `close`."""

    def __init__(self, settings: Settings, runtime: ServerRuntime) -> None:
        self._settings = settings
        self._runtime = runtime
        self._requests: WeakKeyDictionary[Future[RenderedResponse | None], Request] = WeakKeyDictionary()
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="cloudconsole-test-server", daemon=True)
        self._thread.start()
        self._started.result()

    def submit(self, method: str, target: str, headers: HeaderPairs, body: bytes) -> "Future[RenderedResponse | None]":
        """Send a request; the response is None if the console closes the connection instead."""
        path, _, query = target.partition("?")
        request = Request(Headers(headers), method, path, query.encode(), peer="127.0.0.1")
        request.body, request.body_complete = body, True
        future = asyncio.run_coroutine_threadsafe(self._respond(request), self._loop)
        self._requests[future] = request
        return future

    def cancel(self, future: "Future[RenderedResponse | None]") -> None:
        """End a request for whose response nobody waits any longer; a finished one stays as it is."""
        if not future.done() and (request := self._requests.pop(future, None)):
            future.cancel()
            # Not by the cancelled task, which may end after the next request has begun.
            self._loop.call_soon_threadsafe(self._console.client_gone, request)

    def close(self) -> None:
        """End running requests, and the thread."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:
            if self._started.done():
                raise
            self._started.set_exception(problem)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._console = console = Console(self._settings, runtime=self._runtime)
        try:
            self._started.set_result(None)
            await self._stop.wait()
            await self._end_requests()
            await console.leave()
        finally:
            console.close()

    async def _respond(self, request: Request) -> RenderedResponse | None:
        request.arrival = self._console.sequence.next()
        response = await self._console.handle(request)
        if response is None:
            return None
        head, _, body = render(response, request).partition(b"\r\n\r\n")
        status_line, *lines = head.split(b"\r\n")
        headers = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
        return RenderedResponse(int(status_line.split()[1]), headers, body)

    async def _end_requests(self) -> None:
        self._console.hurry()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

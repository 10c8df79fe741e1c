"""Endpoints below `/_test/`: reset, clock, faults, received requests and content."""

import asyncio
from datetime import tzinfo
from functools import partial
from typing import Any, Final

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.access_log import RequestObserver
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.body import Fields
from cloudconsole.server.http.csrf import check_origin
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response, Route, Routes, json_response
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.server.metrics.layout import LOGIN, LOGOUT, OPEN_SESSION, OTHER
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource, check_moment, read_moment
from cloudconsole.server.test_mode.content import load_content
from cloudconsole.server.test_mode.faults import ACTION_NAMES, CATALOGUE, Fault, Faults
from cloudconsole.server.test_mode.fields import number, one_of, read_fields, reject, switch, whole_number
from cloudconsole.server.test_mode.journal import JournalingObserver, RequestJournal, with_whole_body
from cloudconsole.server.test_mode.snapshot_and_drain_barrier import DrainBarrier, StoreSnapshot
from cloudconsole.server.writer import Writer
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import MissingField
from cloudconsole.spec.i18n import Text

RESET_PATH: Final = "/_test/reset"
CLOCK_PATH: Final = "/_test/clock"
FAULT_PATH: Final = "/_test/fault"
REQUESTS_PATH: Final = "/_test/requests"
CONTENT_PATH: Final = "/_test/content"

FAULTY_PATHS: Final = ("/api/", "/auth/login/", "/auth/logout/")
FAULTY_CALLS: Final = (*sorted(ACTION_NAMES), OPEN_SESSION, LOGIN, LOGOUT)

CLOCK_FIELDS: Final = ("now", "advance", "fixed")
FAULT_FIELDS: Final = ("error", "status", "drop", "delay", "retryAfter", "times", "call", "clear")
REQUESTS_FIELDS: Final = ("clear",)
CONTENT_FIELDS: Final = ("replace", "add")

MAX_CONTENT_BYTES: Final = 16 << 20
MAX_TIMES: Final = 1_000_000
MAX_DELAY_SECONDS: Final = 60
MAX_RETRY_AFTER: Final = 3600
FARTHEST: Final = 10**12
"""Maximum of `advance` in seconds; the resulting time is checked separately."""

_DONE: Final = Text("Done.", "已完成。")


class Controls:
    """Test controls; they need a single worker, since workers do not share them."""

    def __init__(
        self,
        clock: ControllableClock,
        seeded: SeededRandomSource | None,
        settings: Settings,
        writer: Writer,
        sessions: SessionFinder,
    ) -> None:
        """Save the current state of the store and the random source for `reset`."""
        self._clock = clock
        self._settings = settings
        self._journal = RequestJournal(clock)
        self._seeded = seeded
        self._zone: tzinfo = settings.zone
        self._writer = writer
        self._sessions = sessions
        self._store = StoreSnapshot(settings.data)
        self._faults = Faults(settings.max_body)
        self._barrier = DrainBarrier()
        self._one_at_a_time = asyncio.Lock()
        """Serialises the control requests."""
        if seeded is not None:
            seeded.save_position()

    def around(self, routes: Routes) -> Routes:
        """Return the routes with fault injection, plus the control routes."""
        faulty = {
            path: {method: with_whole_body(self._faults.around(route)) for method, route in routes[path].items()}
            for path in FAULTY_PATHS
        }
        controls = {
            RESET_PATH: {"POST": Route(OTHER, self.reset)},
            CLOCK_PATH: {"GET": Route(OTHER, self.tell_time), "POST": Route(OTHER, self.move_clock)},
            FAULT_PATH: {"GET": Route(OTHER, self.tell_faults), "POST": Route(OTHER, self.order_fault)},
            REQUESTS_PATH: {"GET": Route(OTHER, self.tell_requests), "POST": Route(OTHER, self.clear_requests)},
            CONTENT_PATH: {"POST": Route(OTHER, self.change_content)},
        }
        gated = {
            path: {method: self._barrier.around(route) for method, route in methods.items()}
            for path, methods in {**routes, **faulty}.items()
        }
        return {**gated, **controls}

    def observed(self, observer: RequestObserver) -> RequestObserver:
        """Return an observer that also records requests in the journal."""
        return JournalingObserver(observer, self._journal)

    async def reset(self, request: Request) -> Response:
        """Restore content, sessions, throttles, clock and tokens, and clear all faults and the journal.

        Any POST will do, whatever its body: a cross-site form is rejected by its origin.
        """
        check_origin(request)
        async with self._one_at_a_time:
            # First, so that the barrier does not wait for requests delayed by a fault.
            self._faults.forget()
            async with self._barrier.closed():
                await self._sessions.flush_touches()
                await self._writer.write(self._store.restore)
                self._clock.reset()
                if self._seeded is not None:
                    self._seeded.restart()
                self._journal.clear()
                return self._respond(request, self._time())

    async def tell_time(self, request: Request) -> Response:
        check_origin(request)
        return self._respond(request, self._time())

    async def tell_faults(self, request: Request) -> Response:
        """Return the pending faults."""
        check_origin(request)
        return self._respond(request, {"faults": self._faults.coming})

    async def move_clock(self, request: Request) -> Response:
        check_origin(request)
        fields = await read_fields(request, CLOCK_FIELDS)
        if not fields:
            raise MissingField("now")
        fixed = switch(fields, "fixed")
        async with self._one_at_a_time:
            # Session use is recorded asynchronously: jumping first would expire sessions in use.
            await self._sessions.flush_touches()
            moment = self._moment(fields)
            if moment is not None:
                self._clock.set(moment)
            if fixed is not None:
                (self._clock.fix if fixed else self._clock.run)()
            return self._respond(request, self._time())

    async def order_fault(self, request: Request) -> Response:
        check_origin(request)
        fields = await read_fields(request, FAULT_FIELDS)
        clear = switch(fields, "clear")
        fault = None if clear and len(fields) == 1 else _read_fault(fields)
        async with self._one_at_a_time:
            if clear:
                self._faults.coming.clear()
            if fault is not None:
                self._faults.coming.append(fault)
            return await self.tell_faults(request)

    async def tell_requests(self, request: Request) -> Response:
        """Return the received requests, oldest first."""
        check_origin(request)
        return self._respond(request, {"requests": self._journal.all()})

    async def clear_requests(self, request: Request) -> Response:
        check_origin(request)
        if not switch(await read_fields(request, REQUESTS_FIELDS), "clear"):
            raise MissingField("clear")
        self._journal.clear()
        return await self.tell_requests(request)

    async def change_content(self, request: Request) -> Response:
        """Replace or add parts of the content, until the next reset."""
        check_origin(request)
        fields = await read_fields(request, CONTENT_FIELDS, MAX_CONTENT_BYTES)
        if not fields:
            raise MissingField(CONTENT_FIELDS[0])
        if len(fields) > 1:
            reject("add", "cannot be combined with 'replace'", "不能与“replace”同时给出")
        ((name, part),) = fields.items()
        if not isinstance(part, dict):
            reject(name, "must be an object with sections of a cloud file", "必须是由云文件各部分组成的对象")
        async with self._one_at_a_time:
            now = int(self._clock.now())
            try:
                await self._writer.write(partial(load_content, self._settings, part, adds=name == "add", now=now))
            except OperatorError as problem:
                text = str(problem).replace("{", "{{").replace("}", "}}")
                reject(name, f"is invalid: {text}", f"无效：{text}")
            return self._respond(request, self._time())

    def end_delays(self) -> None:
        """Drop requests delayed by a fault, so that they do not delay shutdown."""
        self._faults.forget()

    def close(self) -> None:
        self._store.close()

    def _moment(self, fields: Fields) -> float | None:
        """Return the requested time, if any."""
        if "now" in fields and "advance" in fields:
            reject("advance", "cannot be combined with 'now'", "不能与“now”同时给出")
        try:
            if "now" in fields:
                return read_moment(fields["now"], self._zone)
            seconds = number(fields, "advance", -FARTHEST, FARTHEST)
            if seconds is None:
                return None
            moment = self._clock.now() + seconds
            check_moment(moment)
        except ValueError as problem:
            reject("now" if "now" in fields else "advance", str(problem), "必须是一个可用的时间")
        return moment

    def _time(self) -> dict[str, Any]:
        return {"now": format_utc(self._clock.now()), "fixed": self._clock.is_fixed}

    def _respond(self, request: Request, data: dict[str, Any]) -> Response:
        return json_response(envelope.success(_DONE, request.head.language, envelope.encode(data)))


def _read_fault(fields: Fields) -> Fault:
    error = one_of(fields, "error", CATALOGUE)
    status = whole_number(fields, "status", 200, 599)
    drop = switch(fields, "drop")
    delay = number(fields, "delay", 0, MAX_DELAY_SECONDS)
    ends = [name for name, value in (("error", error), ("status", status), ("drop", drop)) if value]
    if not ends and not delay:
        raise MissingField("error")
    if len(ends) > 1:
        reject(ends[1], f"cannot be combined with '{ends[0]}'", f"不能与“{ends[0]}”同时给出")
    retry_after = whole_number(fields, "retryAfter", 0, MAX_RETRY_AFTER)
    if retry_after is not None and not (error or status):
        reject("retryAfter", "needs 'error' or 'status'", "需要同时给出“error”或“status”")
    return Fault(
        left=whole_number(fields, "times", 1, MAX_TIMES) or 1,
        call=one_of(fields, "call", FAULTY_CALLS),
        delay=delay or 0,
        error=error,
        status=status,
        drop=bool(drop),
        retry_after=retry_after,
    )

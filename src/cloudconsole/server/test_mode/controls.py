"""Endpoints below `/_test/`: reset, clock and faults."""

import asyncio
import re
from collections.abc import Collection
from datetime import tzinfo
from typing import Any, Final, NoReturn

from msgspec import MsgspecError, ValidationError
from msgspec.json import Decoder

from cloudconsole.core.clock import format_utc
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.body import Fields, json_text, media_type, read_body
from cloudconsole.server.http.csrf import check_origin
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response, Route, Routes, json_response
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.server.metrics.layout import LOGIN, LOGOUT, OPEN_SESSION, OTHER
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource, check_moment, read_moment
from cloudconsole.server.test_mode.faults import ACTION_NAMES, CATALOGUE, Fault, Faults
from cloudconsole.server.test_mode.snapshot_and_drain_barrier import DrainBarrier, StoreSnapshot
from cloudconsole.server.writer import Writer
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import InvalidField, MalformedBody, MissingField
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.operations import JSON

MAX_BODY_BYTES = 65_536

# Python's float turns numbers out of range into infinity instead of raising an error.
_decode: Final = Decoder(float_hook=float).decode
_LONG_NUMBER: Final = re.compile("(?<![0-9])([0-9]{1000})[0-9]+")


async def read_fields(request: Request, known: Collection[str]) -> Fields:
    """Return the fields of a JSON body without nulls; without known fields the body is optional."""
    body = await read_body(request, MAX_BODY_BYTES)
    if not (known or body or request.head.media_type):
        return {}
    media_type(request, (JSON,))
    fields = _parse(body if known else body or b"{}")
    for name in fields:
        if name not in known:
            among = ", ".join(known) or "-"
            reject(name[:64], f"is unknown; known fields: {among}", f"未知；可用的字段为：{among}")
    return {name: value for name, value in fields.items() if value is not None}


def _parse(body: bytes) -> Fields:
    try:
        text = json_text(body)
        try:
            fields = _decode(text)
        except ValidationError:
            # Well-formed, but with an integer too long to decode. No valid value is as long, so truncate it.
            fields = _decode(_LONG_NUMBER.sub(r"\1", text))
    except (ValueError, MsgspecError, RecursionError):
        raise MalformedBody from None
    if not isinstance(fields, dict):
        raise MalformedBody
    return fields


def reject(field: str, en: str, zh: str) -> NoReturn:
    raise InvalidField(field, Text(f"The field '{{field}}' {en}.", f"字段“{{field}}”{zh}。"))


def switch(fields: Fields, name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        reject(name, "must be true or false", "必须是 true 或 false")
    return value


def whole_number(fields: Fields, name: str, low: int, high: int) -> int | None:
    value = fields.get(name)
    if value is not None and (type(value) is not int or not low <= value <= high):
        reject(name, f"must be a whole number from {low} to {high}", f"必须是 {low} 到 {high} 的整数")
    return value


def number(fields: Fields, name: str, low: float, high: float) -> float | None:
    value = fields.get(name)
    # NaN fails every comparison.
    if value is not None and (type(value) not in (int, float) or not low <= value <= high):
        reject(name, f"must be a number from {low} to {high}", f"必须是 {low} 到 {high} 的数字")
    return value


def one_of(fields: Fields, name: str, choices: Collection[str]) -> str | None:
    value: Any = fields.get(name)
    if value is not None and (not isinstance(value, str) or value not in choices):
        among = ", ".join(choices)
        reject(name, f"must be one of: {among}", f"必须是下列之一：{among}")
    return value


RESET_PATH: Final = "/_test/reset"
CLOCK_PATH: Final = "/_test/clock"
FAULT_PATH: Final = "/_test/fault"

FAULTY_PATHS: Final = ("/api/", "/auth/login/", "/auth/logout/")
FAULTY_CALLS: Final = (*sorted(ACTION_NAMES), OPEN_SESSION, LOGIN, LOGOUT)

CLOCK_FIELDS: Final = ("now", "advance", "fixed")
FAULT_FIELDS: Final = ("error", "status", "drop", "delay", "retryAfter", "times", "call", "clear")

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
            path: {method: self._faults.around(route) for method, route in routes[path].items()}
            for path in FAULTY_PATHS
        }
        controls = {
            RESET_PATH: {"POST": Route(OTHER, self.reset)},
            CLOCK_PATH: {"GET": Route(OTHER, self.tell_time), "POST": Route(OTHER, self.move_clock)},
            FAULT_PATH: {"GET": Route(OTHER, self.tell_faults), "POST": Route(OTHER, self.order_fault)},
        }
        gated = {
            path: {method: self._barrier.around(route) for method, route in methods.items()}
            for path, methods in {**routes, **faulty}.items()
        }
        return {**gated, **controls}

    async def reset(self, request: Request) -> Response:
        """Restore content, sessions, throttles, clock and tokens, and clear all faults."""
        check_origin(request)
        await read_fields(request, ())
        async with self._one_at_a_time:
            # First, so that the barrier does not wait for requests delayed by a fault.
            self._faults.forget()
            async with self._barrier.closed():
                await self._sessions.flush_touches()
                await self._writer.write(self._store.restore)
                self._clock.reset()
                if self._seeded is not None:
                    self._seeded.restart()
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

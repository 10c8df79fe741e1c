"""The page on which a deed is asked for once more, and the doing of it."""

from functools import partial

from cloudconsole.operator.entities.base import NOTHING_TO_CHANGE
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.serializers import Record
from cloudconsole.operator.transaction import Desk
from cloudconsole.server.http.proxy import Front
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.operator_pages.deeds import Deed, Order
from cloudconsole.server.operator_pages.forms import (
    OUT_OF_DATE,
    Problems,
    blank_fields,
    problems_of,
    said,
    sent_fields,
)
from cloudconsole.server.operator_pages.queries import key_of, query_of
from cloudconsole.server.operator_pages.rendering import link
from cloudconsole.server.operator_pages.room import Room
from cloudconsole.server.operator_pages.sessions import Posted, Visit


class DeedPage:
    def __init__(self, deed: Deed, room: Room) -> None:
        self._deed = deed
        self._room = room

    async def ask(self, request: Request, front: Front) -> Response:
        visit = await self._room.sessions.require(request, front)
        return await self._page(request, visit, key_of(query_of(request)))

    async def do(self, request: Request, front: Front) -> Response:
        deed, room = self._deed, self._room
        posted = await room.sessions.receive(request, front)
        key = key_of(posted.fields)
        if not posted.is_current:
            return await self._page(request, posted.visit, key, posted, said(OUT_OF_DATE), 403)
        force = deed.may_be_forced and "force" in posted.fields
        order = Order(posted.visit.session, key, posted.fields, force)
        try:
            done = await room.office.do(partial(deed.do, room.office, order))
        except OperatorError as refused:
            return await self._page(request, posted.visit, key, posted, problems_of(refused, deed.controls), 422)
        past = deed.past(done) if done.changed else NOTHING_TO_CHANGE
        page = link(f"{deed.noun.name}/") if deed.verb == "remove" else link(f"{deed.noun.name}/one/", key=key)
        return room.done(front, deed.noun, done.subject, past, page)

    async def _page(
        self,
        request: Request,
        visit: Visit,
        key: str,
        posted: Posted | None = None,
        problems: Problems | None = None,
        status: int = 200,
    ) -> Response:
        deed, problems = self._deed, problems or Problems()

        def read(desk: Desk) -> Record:
            return deed.noun.show(desk, key)

        try:
            await self._room.office.look(read)
        except OperatorError as missing:
            return self._room.missing(request, visit, str(missing))
        fields = blank_fields(deed.controls)
        if posted is not None:
            fields = sent_fields(deed.controls, posted.fields, problems)
        return self._room.page(
            "ask.html",
            request,
            visit,
            status=status,
            noun=deed.noun,
            deed=deed,
            key=key,
            fields=fields,
            problems=problems,
            suggestions={},
            may_be_forced=problems.may_be_forced and deed.may_be_forced,
        )

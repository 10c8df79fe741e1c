"""Home page: what needs attention, latest changes and upcoming news."""

import asyncio
from typing import Final

from sqlalchemy import select

from cloudconsole.operator.audit import AuditQuery
from cloudconsole.operator.entities import NEWS
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.attention import SEVERITIES, AttentionReader
from cloudconsole.server.admin_ui.page_services import PageServices
from cloudconsole.server.admin_ui.views.audit import describe_changes
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.store.tables import news

_CHANGES: Final = 10
_UPCOMING: Final = 5


class HomeView:
    def __init__(self, context: PageServices, attention: AttentionReader) -> None:
        self._context = context
        self._attention = attention

    async def show(self, request: Request) -> Response:
        visit = await self._context.sessions.require(request)
        attention, (lines, upcoming) = await asyncio.gather(
            self._attention.read(request.client), self._context.executor.read(_read)
        )
        return self._context.page(
            "home.html",
            request,
            visit,
            attention=attention,
            severities=SEVERITIES,
            lines=lines,
            upcoming=upcoming,
        )


def _read(tx: OperatorTransaction) -> tuple[list[Record], list[Record]]:
    columns = news.c
    still = select(news).where(columns.published_at > tx.now, ~columns.disabled)
    found = tx.connection.execute(still.order_by(columns.published_at).limit(_UPCOMING)).mappings()
    upcoming = [NEWS.record_of(dict(row)) for row in found]
    return describe_changes(tx, AuditQuery(limit=_CHANGES)), upcoming

"""The first page: the places there are, what operators changed last, and the news still to appear."""

from typing import Final

from sqlalchemy import select

from cloudconsole.operator.audit import AuditQuery
from cloudconsole.operator.entities import NEWS
from cloudconsole.operator.serializers import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.context import PageContext
from cloudconsole.server.admin_ui.views.audit import describe_changes
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.store.tables import news

_CHANGES: Final = 10
_UPCOMING: Final = 5
_SECTIONS: Final = {
    "tenant": "Customers; each has accounts, quotas, resources, domains and URLs of its own.",
    "account": "Who can log in, and for which tenant; passwords, sessions, failed logins.",
    "quota": "How much a tenant may have, and what of it is in use. Every tenant has all of them.",
    "node": "The places where resources are; a disabled one takes no new ones.",
    "price": "What an hour costs by kind, unit and node, from a moment on.",
    "resource": "Cloud hosts, disks, images and the rest: what counts in quotas and costs money.",
    "flavor": "The sizes of cloud hosts that tenants are offered.",
    "url": "The common URLs on a tenant's overview.",
    "domain": "Accelerated domains, with their cache behaviors, access rules and origins.",
    "news": "What all tenants read; an item may appear at a later time.",
}


class HomeView:
    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def show(self, request: Request) -> Response:
        visit = await self._context.sessions.require(request)
        lines, upcoming = await self._context.executor.read(_read)
        return self._context.page("home.html", request, visit, sections=_SECTIONS, lines=lines, upcoming=upcoming)


def _read(tx: OperatorTransaction) -> tuple[list[Record], list[Record]]:
    columns = news.c
    still = select(news).where(columns.published_at > tx.now, ~columns.disabled)
    found = tx.connection.execute(still.order_by(columns.published_at).limit(_UPCOMING)).mappings()
    upcoming = [NEWS.record_of(dict(row)) for row in found]
    return describe_changes(tx, AuditQuery(limit=_CHANGES)), upcoming

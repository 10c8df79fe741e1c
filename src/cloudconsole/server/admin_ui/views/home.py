"""Home page: sections, latest changes and upcoming news."""

from typing import Final

from sqlalchemy import select

from cloudconsole.operator.audit import AuditQuery
from cloudconsole.operator.entities import NEWS
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.page_services import PageServices
from cloudconsole.server.admin_ui.views.audit import describe_changes
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.store.tables import news

_CHANGES: Final = 10
_UPCOMING: Final = 5
_SECTIONS: Final = {
    "tenant": "Customers with their accounts, quotas, resources, domains and URLs.",
    "account": "Who can log in, and for which tenant; passwords, sessions, failed logins.",
    "quota": "Limits of a tenant, and how much of them is in use.",
    "node": "Locations of resources; a disabled node accepts no new ones.",
    "price": "Hourly prices by kind, unit and node, with a start time.",
    "resource": "Cloud hosts, disks, images and others that count against quotas and cost money.",
    "flavor": "Sizes of cloud hosts offered to tenants.",
    "url": "Common URLs on a tenant's overview.",
    "domain": "Accelerated domains, with their cache behaviors, access rules and origins.",
    "news": "Announcements for all tenants; an item can be scheduled.",
}


class HomeView:
    def __init__(self, context: PageServices) -> None:
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

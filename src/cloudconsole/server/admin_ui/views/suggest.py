"""Names to choose from while typing, as JSON."""

from typing import Final

import msgspec

from cloudconsole.operator.entities.suggestions import SUGGESTED, suggestions
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.page_services import PageServices
from cloudconsole.server.admin_ui.templating import parse_query
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response, json_response
from cloudconsole.spec.errors import NotFound

MAX_FOUND: Final = 20
MAX_TEXT: Final = 255


class SuggestView:
    def __init__(self, context: PageServices) -> None:
        self._context = context

    async def show(self, request: Request) -> Response:
        await self._context.sessions.require(request)
        query = parse_query(request)
        entity, text = query.get("entity", ""), query.get("text", "")
        if entity not in SUGGESTED or len(text) > MAX_TEXT:
            raise NotFound

        def read(tx: OperatorTransaction) -> list[Record]:
            return suggestions(tx, entity, text, is_enabled="enabled" in query, limit=MAX_FOUND)

        return json_response(msgspec.json.encode(await self._context.executor.read(read)))

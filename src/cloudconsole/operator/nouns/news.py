"""News: each appears at its date. A disabled one is withdrawn."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sqlalchemy import func, select

from cloudconsole.core.clock import time_text
from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.filters import Filter, switch_filter
from cloudconsole.operator.nouns.noun import Noun
from cloudconsole.operator.nouns.traits import Values
from cloudconsole.operator.records import Record, Row
from cloudconsole.operator.rules import LARGEST
from cloudconsole.store import tables


class News(Noun):
    name = "news"
    thing = "news item"
    plural = "news"
    model = models.News
    table = tables.news
    fixed = frozenset({"id"})
    made_up: ClassVar[Mapping[str, str]] = {"id": "the next one", "date": "now"}

    def filters(self) -> Mapping[str, Filter]:
        columns = self.table.c
        return {
            "upcoming": Filter(
                "only those still to appear", lambda desk, _value: columns.published_at > desk.now, is_switch=True
            ),
            "disabled": switch_filter(columns.disabled, "only the withdrawn ones"),
        }

    def _complete(self, desk: Desk, values: Values) -> Values:
        last = desk.connection.scalar(select(func.max(self.table.c.id))) or 0
        return {"id": last + 1, "date": time_text(desk.now), **values}

    def record_of(self, row: Row) -> Record:
        return records.news_record(row)

    def _row(self, desk: Desk, values: Values) -> Row:
        return records.news_row(read_part(models.News, values, desk))

    def _value_of(self, key: str) -> Any:
        is_number = key.isascii() and key.isdecimal() and len(key) <= len(str(LARGEST))
        return int(key) if is_number else 0

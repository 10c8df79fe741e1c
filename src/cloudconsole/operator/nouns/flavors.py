"""Flavors. A disabled one is not offered any more."""

from collections.abc import Mapping

from cloudconsole.operator import models, records
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.models import read_part
from cloudconsole.operator.nouns.filters import Filter, name_filters
from cloudconsole.operator.nouns.noun import NumberedNoun
from cloudconsole.operator.nouns.traits import Values
from cloudconsole.operator.records import Record, Row
from cloudconsole.store import tables


class Flavors(NumberedNoun):
    name = "flavor"
    thing = "flavor"
    plural = "flavors"
    model = models.Flavor
    table = tables.flavors
    fixed = frozenset({"id"})

    def filters(self) -> Mapping[str, Filter]:
        return name_filters(self.table)

    def record_of(self, row: Row) -> Record:
        return records.flavor_record(row)

    def _row(self, desk: Desk, values: Values) -> Row:
        return records.flavor_row(read_part(models.Flavor, values, desk))

    def _check(self, desk: Desk, before: Row | None, after: Row | None) -> None:
        if after is not None:
            self._refuse_taken_name(desk, before, after)

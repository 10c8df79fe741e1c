"""What a load may not put into a tenant, or onto a node, that is disabled; what is there already stays."""

from sqlalchemy import Connection

from cloudconsole.operator.cloudfile.sync import Changes, rows_of
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.rules import disabled_refusal


def refuse_disabled(connection: Connection, resources: Changes, *, tenants: Changes, nodes: Changes) -> None:
    """Refuse resources that come to a closed tenant or node; these have been written, and none removed yet."""
    refusals = [
        f"{disabled_refusal(thing, name)}, such as {resource}: enable it in the file, or leave them out"
        for thing, places in (("tenant", tenants), ("node", nodes))
        for name, resource in _first_arrivals(resources, f"{thing}_id", _closed(connection, places)).items()
    ]
    if refusals:
        raise OperatorError("; ".join(refusals))


def _closed(connection: Connection, places: Changes) -> dict[int, str]:
    """The names of those that were disabled before the load and still are, by id.

    One that the file adds or disables may have taken its resources first, as with single changes: otherwise a dump
    would not load into a new store.
    """
    fresh = {after["name"] for before, after in places.written() if before is None or not before["disabled"]}
    found = rows_of(connection, places.table)
    return {row["id"]: row["name"] for row in found if row["disabled"] and row["name"] not in fresh}


def _first_arrivals(resources: Changes, column: str, closed: dict[int, str]) -> dict[str, str]:
    """The first resource that is new at each closed place, or moved there, by the place's name."""
    found: dict[str, str] = {}
    for before, after in resources.written():
        place = after[column]
        if place in closed and (before is None or before[column] != place):
            found.setdefault(closed[place], after["id"])
    return found

"""Resources of OpenStack projects without a price, and the check that a change of prices leaves none so."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sqlalchemy import Connection, FromClause, func, select

from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.core.resources import TYPED_UNITS, Amounts
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.messages import Message, Term, counted
from cloudconsole.operator.rows_and_records import Row
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.spec.records import BillableType
from cloudconsole.store.tables import nodes, prices, project_resources, reading_periods, record_names

_READING_SECONDS: Final = 30 * 86_400
"""Projects that were not read for longer are left out: nobody uses them, and they may no longer exist."""

_PRICE: Final = ("kind", "unit", "node_id", "start", "billionths", "type")


class UnpricedResources(NamedTuple):
    """Running resources of OpenStack projects with the same price, which is missing."""

    kind: BillableType
    type: str | None
    region: str
    has_node: bool
    """Whether there is a node of the region's name, which prices may refer to."""
    resources: int
    projects: int


def unpriced_resources(tx: OperatorTransaction) -> Iterator[UnpricedResources]:
    """Yield what runs in OpenStack projects without a price; those of the store always have one."""
    running = list(_running(tx))
    book = PriceBook(_prices(tx.connection) if running else ())
    yield from (each for node_id, each in running if not _is_priced(tx, book, node_id, each))


def reject_unpriced_projects(tx: OperatorTransaction, changes: Iterable[tuple[Row | None, Row | None]]) -> None:
    """Reject changes of prices, not yet made, that leave what runs in OpenStack projects without a price."""
    pairs = list(changes)
    gone = {_price(before) for before, _ in pairs if before is not None}
    running = list(_running(tx)) if gone else []
    if not running:
        return
    present = _prices(tx.connection)
    coming = {_price(after) for _, after in pairs if after is not None}
    books = PriceBook(present), PriceBook((present - gone) | coming)
    for node_id, each in running:
        was_priced, is_priced = (_is_priced(tx, book, node_id, each) for book in books)
        if was_priced and not is_priced:
            raise OperatorError(
                Message(
                    "{resources} of kind {kind}{type} in {region}, of {projects} in OpenStack, would have no price: "
                    "what is to be free of charge needs a price of 0",
                    "OpenStack 中{projects}的 {resources}（{region} 的{kind}{type}）将没有价格：如需免费，"
                    "请将价格设为 0",
                    resources=counted(each.resources, "resource", "个资源"),
                    kind=Term("kind", each.kind),
                    type=f" {each.type}" if each.type is not None and each.kind in TYPED_UNITS else "",
                    region=each.region,
                    projects=counted(each.projects, "project", "个项目"),
                )
            )


def _running(tx: OperatorTransaction) -> Iterator[tuple[int, UnpricedResources]]:
    """Yield what runs in projects that were read lately by price, as if it had none, with the id of its node."""
    columns, periods = project_resources.c, reading_periods.c
    lately = select(periods.project_id).where(periods.last_reading > tx.now - _READING_SECONDS)
    query = (
        select(columns.kind, columns.type, columns.node_id, func.count(), func.count(columns.project_id.distinct()))
        .where(columns.ended_at.is_(None), columns.project_id.in_(lately))
        .group_by(columns.kind, columns.type, columns.node_id)
        .order_by(columns.kind, columns.type, columns.node_id)
    )
    for kind, type_name, node_id, count, projects in tx.connection.execute(query).all():
        region = _region(tx.connection, node_id)
        yield node_id, UnpricedResources(kind, type_name, region, node_id > 0, count, projects)


def _is_priced(tx: OperatorTransaction, book: PriceBook, node_id: int, found: UnpricedResources) -> bool:
    return book.hourly(found.kind, node_id, Amounts(), tx.now, found.type) is not None


def _prices(connection: Connection) -> set[Price]:
    return {Price(*row) for row in connection.execute(select(*(prices.c[name] for name in _PRICE)))}


def _price(row: Row) -> Price:
    return Price(*(row[name] for name in _PRICE))


def _region(connection: Connection, node_id: int) -> str:
    table: FromClause = nodes if node_id > 0 else record_names
    return connection.scalar(select(table.c.name).where(table.c.id == node_id)) or str(node_id)

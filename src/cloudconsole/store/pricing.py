"""The price book as the store holds it."""

from sqlalchemy import Connection, select

from cloudconsole.core.estimate import Price, PriceBook
from cloudconsole.store.tables import prices

PRICES_SQL = "SELECT kind, unit, node_id, start, billionths FROM prices"


def read_price_book(connection: Connection) -> PriceBook:
    columns = prices.c
    rows = connection.execute(select(columns.kind, columns.unit, columns.node_id, columns.start, columns.billionths))
    return PriceBook(Price(*row) for row in rows)

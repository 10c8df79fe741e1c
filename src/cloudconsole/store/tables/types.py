"""Column types and naming convention."""

from typing import Final

from sqlalchemy import BigInteger, Column, Integer, Text

NAMING_CONVENTION: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


def bigint_id() -> Column[int]:
    """Return a 64-bit id for tables that outgrow 32 bits. SQLite integers always have 64 bits."""
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True)


TEXT: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""Text ordered by code point in every database."""

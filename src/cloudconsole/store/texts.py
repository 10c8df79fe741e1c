"""The type of all text columns."""

from typing import Final

from sqlalchemy import Text

TEXT: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""In order by its characters' numbers, in every database."""

"""What a field means, said once where it is declared; the published documents take it from there."""

from typing import Any

from msgspec import Meta


def described(description: str, *, unit: str | None = None, **schema: Any) -> Meta:
    """A description for `Annotated`, with a unit and further JSON Schema; none of it is looked at when decoding."""
    return Meta(description=description, extra_json_schema=({"x-unit": unit} if unit else {}) | schema or None)

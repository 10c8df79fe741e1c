"""Set-Cookie lines, each seen as it came; client libraries keep only what they make of them."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple


class SetCookie(NamedTuple):
    name: str
    value: str
    attributes: dict[str, str]
    """By their names in lower case; of a repeated one the last counts."""

    @property
    def expires(self) -> datetime | None:
        """The moment in `Expires`, where there is one that can be read."""
        try:
            moment = parsedate_to_datetime(self.attributes.get("expires", ""))
        except (ValueError, TypeError, OverflowError):
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def max_age(self) -> int | None:
        text = self.attributes.get("max-age", "")
        digits = text.removeprefix("-")
        return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None

    @property
    def has_expiry(self) -> bool:
        return "expires" in self.attributes or "max-age" in self.attributes

    @property
    def is_gone(self) -> bool:
        """Whether it takes the cookie away."""
        if self.max_age is not None:
            return self.max_age <= 0
        if self.expires is not None:
            return self.expires <= datetime.now(UTC)
        return not self.value


def parse_set_cookie(line: str) -> SetCookie:
    pair, *parts = line.split(";")
    name, _, value = pair.partition("=")
    attributes = {key.strip().lower(): given.strip() for key, _, given in (part.partition("=") for part in parts)}
    return SetCookie(name.strip(), value.strip().strip('"'), attributes)

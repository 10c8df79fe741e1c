"""Cookie names, and parsing of Set-Cookie values, for clients."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

SESSION_COOKIE: Final = "sessionid"
CSRF_COOKIE: Final = "csrftoken"


class SetCookie(NamedTuple):
    name: str
    value: str
    attributes: dict[str, str]
    """By lowercase name; the last of repeated attributes counts."""

    @property
    def expires(self) -> datetime | None:
        """The time in `Expires`, if valid."""
        try:
            moment = parsedate_to_datetime(self.attributes.get("expires", ""))
        except (ValueError, TypeError, OverflowError):
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def max_age(self) -> int | None:
        """The seconds in `Max-Age`, if valid."""
        text = self.attributes.get("max-age", "")
        digits = text.removeprefix("-")
        return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 12 else None

    @property
    def has_expiry(self) -> bool:
        return "expires" in self.attributes or "max-age" in self.attributes

    @property
    def is_deleted(self) -> bool:
        """Whether it deletes the cookie."""
        if self.max_age is not None:
            return self.max_age <= 0
        if self.expires is not None:
            return self.expires <= datetime.now(UTC)
        return not self.value


def parse_set_cookie(line: str) -> SetCookie:
    """Parse a Set-Cookie value leniently, as RFC 6265 requires of clients; without a `=` the name is empty."""
    pair, *parts = line.split(";")
    name, separator, value = pair.partition("=")
    if not separator:
        name, value = "", name
    attributes = {key.strip().lower(): given.strip() for key, _, given in (part.partition("=") for part in parts)}
    return SetCookie(name.strip(), value.strip(), attributes)

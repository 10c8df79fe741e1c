"""Names on the wire that both sides must agree on."""

from typing import Final

SESSION_COOKIE: Final = "sessionid"
CSRF_COOKIE: Final = "csrftoken"

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"


def is_utf8_encodable(text: str) -> bool:
    """Whether it can be sent as UTF-8: what was no text where it came from has half characters in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

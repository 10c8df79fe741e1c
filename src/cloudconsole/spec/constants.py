"""Cookie names and media types shared by client and server."""

from typing import Final

SESSION_COOKIE: Final = "sessionid"
CSRF_COOKIE: Final = "csrftoken"

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"


def is_utf8_encodable(text: str) -> bool:
    """Whether the text can be encoded: undecodable input contains lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

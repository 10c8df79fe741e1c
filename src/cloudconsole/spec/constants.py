"""Cookie names and media types shared by client and server."""

from typing import Final

SESSION_COOKIE: Final = "sessionid"
CSRF_COOKIE: Final = "csrftoken"

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

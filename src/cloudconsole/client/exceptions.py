"""Exception hierarchy of the client.

ConsoleError
├── InvalidCredentials   the username or password is wrong, or the account is disabled
├── LoginRequired        not logged in, and no credentials to log in with
├── CsrfFailed           the token was rejected, even after a new login
├── RegionRequired       no region was given, and the console does not offer exactly one
├── UnknownAction
├── NotFound             for example, a domain that the account does not have
├── RateLimited          `retry_after` is the number of seconds to wait
├── RequestRefused       any other error in the request
├── ServerError          an error of the console or of an upstream service
├── ProtocolError        the response violates the interface; `payload` is its content
├── ConnectionFailed     no connection, a lost connection, or no response in time
└── ConsoleClosed        the client has been closed

The envelope's `code` decides, whatever the HTTP status; `error` distinguishes errors with the same code.

Not `spec.errors`, the errors that this server sends: other consoles may send others, and some errors, such as a failed
connection, are never sent.
"""

from typing import Any, Final

from cloudconsole.spec import errors as spec
from cloudconsole.spec.secret_values import Secrets


class ConsoleError(Exception):
    """A failed call; `str()` is a one-line message without secrets."""

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        error: str | None = None,
        field: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """The envelope's code, else the HTTP status; None without a response."""
        self.error = error
        """The console's error identifier, for programs; None if it sends none."""
        self.field = field
        """The invalid request field, or for a ProtocolError the invalid response field."""
        self.request_id = request_id
        """The request ID to report to the operator."""
        self.retry_after = retry_after
        """The number of seconds that the console asks to wait."""

    def redact(self, secrets: Secrets) -> None:
        """Remove secrets that the console has quoted in its message."""
        self.message = secrets.remove_from(self.message)
        self.args = (self.message,)

    def __reduce__(self) -> tuple[Any, ...]:
        # Independent of a subclass's __init__: errors are copied for other waiters and pickled for other processes.
        return _rebuild, (type(self), self.args, dict(self.__dict__))


def _rebuild(kind: type[ConsoleError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> ConsoleError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class InvalidCredentials(ConsoleError):
    """The username or password is wrong, or the account is disabled."""


class LoginRequired(ConsoleError):
    """There is no session, and there are no credentials to log in with."""


class CsrfFailed(ConsoleError):
    """The CSRF token was rejected, even after a new login."""


class RegionRequired(ConsoleError):
    """No region was given, and the console does not offer exactly one."""

    def __init__(self, message: str, regions: tuple[str, ...]) -> None:
        super().__init__(message, field="region")
        self.regions = regions
        """The regions that the console offers; empty if it does not list them."""


class UnknownAction(ConsoleError):
    """The console does not have this action."""


class NotFound(ConsoleError):
    """What was named does not exist, for example a domain that the account does not have."""


class RateLimited(ConsoleError):
    """There were too many requests; `retry_after` is the number of seconds to wait."""


class RequestRefused(ConsoleError):
    """Any other error in the request, such as an invalid field."""


class ServerError(ConsoleError):
    """The console or a service behind it failed."""


class ProtocolError(ConsoleError):
    """The response violates the interface."""

    def __init__(self, message: str, *, payload: Any, **attributes: Any) -> None:
        super().__init__(message, **attributes)
        self.payload = payload
        """The response body, decoded if it is JSON, else bytes."""


class ConnectionFailed(ConsoleError):
    """There was no connection, it was lost, or there was no response in time."""

    def __init__(self, message: str, *, was_sent: bool = True, may_recover: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        """False if the console certainly did not receive the request."""
        self.may_recover = may_recover
        """False if another attempt would fail, too: the host is unknown, or its certificate is not trusted."""


class ConsoleClosed(ConsoleError):
    """The client was used after `close()`."""

    def __init__(self, base_url: str) -> None:
        super().__init__(f"the client of {base_url} is closed: create another one")


_BY_ERROR: Final[dict[tuple[str | None, int], type[ConsoleError]]] = {
    (api_error.error, api_error.code): kind
    for api_error, kind in (
        (spec.InvalidCredentials, InvalidCredentials),
        (spec.NoProject, RequestRefused),
        (spec.ProjectRequired, RequestRefused),
        (spec.UnknownAction, UnknownAction),
    )
}
_BY_CODE: Final[dict[int, type[ConsoleError]]] = {401: LoginRequired, 403: CsrfFailed, 404: NotFound, 429: RateLimited}


def error_class_for(error: str | None, code: int) -> type[ConsoleError]:
    if (error, code) in _BY_ERROR:
        return _BY_ERROR[error, code]
    if 500 <= code <= 599:
        return ServerError
    return _BY_CODE.get(code, RequestRefused)

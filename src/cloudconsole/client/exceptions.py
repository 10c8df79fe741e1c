"""Every way a call can fail: one tree.

ConsoleError
├── InvalidCredentials   the user, password or account is not taken
├── LoginRequired        nobody is logged in, and nothing is given to log in with
├── CsrfFailed           the token was refused, also after a new login
├── RegionRequired       no region was given, and the console offers not exactly one
├── UnknownAction
├── NotFound             such as a domain that the account does not have
├── RateLimited          `retry_after` says how long to wait
├── RequestRefused       any other fault of the request
├── ServerError          a fault of the console, or of what is behind it
├── ProtocolError        the answer is not as the interface has it; `payload` is what came
└── ConnectionFailed     no connection, a lost one, or no answer in time

The envelope's `code` decides, whatever the HTTP status, and its `error` where several are of that code.
"""

from typing import Any, Final

from cloudconsole.spec import errors as spec


class ConsoleError(Exception):
    """A call that failed; `str()` is one line for people, and holds no secret."""

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
        """The envelope's, else the HTTP status; None where no answer came."""
        self.error = error
        """The console's identifier of what went wrong, for programs; None where it gives none."""
        self.field = field
        """The request's field at fault, or of a ProtocolError the answer's."""
        self.request_id = request_id
        """What to quote to the operator."""
        self.retry_after = retry_after
        """The seconds that the console asks to wait."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Whatever a subclass's __init__ wants: copies are for other callers, and pickles for other processes.
        return _made_again, (type(self), self.args, dict(self.__dict__))


def _made_again(kind: type[ConsoleError], arguments: tuple[Any, ...], facts: dict[str, Any]) -> ConsoleError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(facts)
    return error


class InvalidCredentials(ConsoleError):
    pass


class LoginRequired(ConsoleError):
    pass


class CsrfFailed(ConsoleError):
    pass


class RegionRequired(ConsoleError):
    def __init__(self, message: str, regions: tuple[str, ...]) -> None:
        super().__init__(message, field="region")
        self.regions = regions
        """What the console offers; empty where it does not say."""


class UnknownAction(ConsoleError):
    pass


class NotFound(ConsoleError):
    pass


class RateLimited(ConsoleError):
    pass


class RequestRefused(ConsoleError):
    pass


class ServerError(ConsoleError):
    pass


class ProtocolError(ConsoleError):
    def __init__(self, message: str, *, payload: Any, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.payload = payload
        """What came: decoded where it is JSON, else its bytes."""


class ConnectionFailed(ConsoleError):
    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        """False where the console surely has not seen the request."""


_BY_ERROR: Final[dict[tuple[str | None, int], type[ConsoleError]]] = {
    (refusal.error, refusal.code): kind
    for refusal, kind in (
        (spec.InvalidCredentials, InvalidCredentials),
        (spec.NoProject, RequestRefused),
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

"""The operations of the interface, and every way each of them can refuse: no other is ever seen there."""

from typing import Annotated

from msgspec import Struct

from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import (
    ApiError,
    BodyTooLarge,
    CsrfFailed,
    InternalError,
    InvalidCredentials,
    InvalidField,
    InvalidHost,
    LoginRequired,
    MalformedBody,
    MethodNotAllowed,
    MissingField,
    NoProject,
    NotFound,
    TooManyRequests,
    Unavailable,
    UnknownAction,
    UnknownRegion,
    UnsupportedMediaType,
    UpstreamFailed,
    UpstreamTimeout,
)
from cloudconsole.spec.records import field_doc

Errors = tuple[type[ApiError], ...]


class Operation(Struct, frozen=True, kw_only=True):
    name: str
    method: str
    path: str
    summary: str
    notes: str
    errors: Errors


class LoginForm(Struct, frozen=True, kw_only=True):
    """The fields of a login."""

    csrfmiddlewaretoken: Annotated[
        str, field_doc("The value of the cookie `csrftoken`; the header `X-CSRFToken` serves instead.")
    ] = ""
    username: Annotated[str, field_doc("The account's name.", minLength=1)]
    password: Annotated[str, field_doc("Its password.", minLength=1, format="password")]
    region: Annotated[
        str,
        field_doc("The address of an identity endpoint: one of those that `GET /api/` lists.", minLength=1),
    ]


COMMON_ERRORS: Errors = (InvalidHost, InternalError, Unavailable)
"""What any request may meet, whatever its path."""

UNKNOWN_PATH_ERRORS: Errors = (NotFound, MethodNotAllowed)
"""What meets a request that is none of the operations."""

_BODY: Errors = (BodyTooLarge, UnsupportedMediaType, MalformedBody, MissingField)
_SESSION: Errors = (LoginRequired, CsrfFailed)
_UPSTREAM: Errors = (UpstreamFailed, UpstreamTimeout)

OPEN_SESSION = Operation(
    name="open",
    method="GET",
    path="/api/",
    summary="Open a session and see what there is",
    notes="Always sets both cookies, kept where they are good, and never logs anyone out.",
    errors=COMMON_ERRORS,
)
CALL_ACTION = Operation(
    name="call",
    method="POST",
    path="/api/",
    summary="Call an action",
    notes="The field `action` says which; unknown extra fields are ignored, and of a repeated field the last value "
    "counts. As form data every value is text. Each action's body names its answer as `x-response`.",
    errors=(
        *COMMON_ERRORS,
        *_BODY,
        *_SESSION,
        InvalidField,
        UnknownAction,
        *(error for action in ACTIONS for error in action.errors),
        *_UPSTREAM,
    ),
)
LOGIN = Operation(
    name="logIn",
    method="POST",
    path="/auth/login/",
    summary="Log in",
    notes="Gives a new `sessionid` and ends the session that the caller had; `csrftoken` stays and is bound to the new "
    "session. A failed login changes no cookie.",
    errors=(
        *COMMON_ERRORS,
        *_BODY,
        CsrfFailed,
        UnknownRegion,
        InvalidCredentials,
        NoProject,
        TooManyRequests,
        *_UPSTREAM,
    ),
)
LOGOUT = Operation(
    name="logOut",
    method="POST",
    path="/auth/logout/",
    summary="Log out",
    notes="Ends the session, clears `sessionid` and keeps `csrftoken`. It takes no body.",
    errors=(*COMMON_ERRORS, *_SESSION),
)

OPERATIONS = (OPEN_SESSION, CALL_ACTION, LOGIN, LOGOUT)

"""HTTP operations of the interface, their media types, and all errors that each can return."""

from typing import Annotated, Final

from msgspec import UNSET, Struct, UnsetType

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
    ProjectRequired,
    TooManyRequests,
    Unavailable,
    UnknownAction,
    UnknownRegion,
    UnsupportedMediaType,
    UpstreamFailed,
    UpstreamTimeout,
)
from cloudconsole.spec.extensions import EXTENSIONS
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
        str, field_doc("The value of the cookie `csrftoken`; alternatively send the header `X-CSRFToken`.")
    ] = ""
    username: Annotated[str, field_doc("The account's name.", minLength=1)]
    password: Annotated[str, field_doc("Its password.", minLength=1, format="password")]
    region: Annotated[
        str,
        field_doc("The URL of an identity endpoint, one of those listed by `GET /api/`.", minLength=1),
    ]
    user_domain: (
        Annotated[
            str,
            field_doc(
                "For users of OpenStack: the name of the user's domain, one that the operator admits; by default the "
                "endpoint's own. Other accounts ignore it.",
                maxLength=64,
            ),
        ]
        | UnsetType
    ) = UNSET
    project: (
        Annotated[
            str,
            field_doc(
                "For users of OpenStack: the ID or the name of the project to use; by default the user's default "
                "project, or the only one. Other accounts ignore it.",
                maxLength=64,
            ),
        ]
        | UnsetType
    ) = UNSET


COMMON_ERRORS: Errors = (InvalidHost, InternalError, Unavailable)
"""Errors of any request, whatever its path."""

UNKNOWN_PATH_ERRORS: Errors = (NotFound, MethodNotAllowed)
"""Errors of requests that match no operation."""

_BODY: Errors = (BodyTooLarge, UnsupportedMediaType, MalformedBody, MissingField)
_SESSION: Errors = (LoginRequired, CsrfFailed)
_UPSTREAM: Errors = (UpstreamFailed, UpstreamTimeout)

OPEN_SESSION = Operation(
    name="openSession",
    method="GET",
    path="/api/",
    summary="Open a session and get the console's description",
    notes="Always sets both cookies, reusing valid ones, and never ends a session.",
    errors=COMMON_ERRORS,
)
CALL_ACTION = Operation(
    name="callAction",
    method="POST",
    path="/api/",
    summary="Call an action",
    notes="The field `action` names the action. Unknown fields are ignored; the last value of a repeated field "
    "counts. In form data every value is text. Each action's request schema names its response as `x-response`.",
    errors=(
        *COMMON_ERRORS,
        *_BODY,
        *_SESSION,
        InvalidField,
        UnknownAction,
        *(error for action in (*ACTIONS, *EXTENSIONS) for error in action.errors),
        *_UPSTREAM,
    ),
)
LOGIN = Operation(
    name="logIn",
    method="POST",
    path="/auth/login/",
    summary="Log in",
    notes="Sets a new `sessionid` and ends the client's previous session; `csrftoken` stays and is bound to the new "
    "session. A failed login changes no cookie.",
    errors=(
        *COMMON_ERRORS,
        *_BODY,
        CsrfFailed,
        InvalidField,
        UnknownRegion,
        InvalidCredentials,
        NoProject,
        ProjectRequired,
        TooManyRequests,
        *_UPSTREAM,
    ),
)
LOGOUT = Operation(
    name="logOut",
    method="POST",
    path="/auth/logout/",
    summary="Log out",
    notes="Ends the session, clears `sessionid` and retains `csrftoken`. Takes no body.",
    errors=(*COMMON_ERRORS, *_SESSION),
)

OPERATIONS = (OPEN_SESSION, CALL_ACTION, LOGIN, LOGOUT)
JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

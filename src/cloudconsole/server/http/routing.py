"""What a path does with a method."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from cloudconsole.server.http.proxy import RequestOrigin
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response

Endpoint = Callable[[Request, RequestOrigin], Awaitable[Response]]


class Route(NamedTuple):
    call: str
    """Under which name its calls are counted; an action call later gets its action's."""
    endpoint: Endpoint


Routes = dict[str, dict[str, Route]]
"""By path, then by method."""

"""Cloud Console: the programmatic interface of a cloud hosting console, and its Python client."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cloudconsole._version import __version__

if TYPE_CHECKING:
    from cloudconsole.client import (
        About,
        ConnectionFailed,
        Console,
        ConsoleError,
        Consumption,
        Cost,
        CsrfFailed,
        Domain,
        Flavor,
        Flavors,
        InvalidCredentials,
        LoginRequired,
        NewsItem,
        NotFound,
        Origin,
        ProtocolError,
        Quota,
        RateLimited,
        RegionRequired,
        RequestRefused,
        SavedCookie,
        ServerError,
        Session,
        Units,
        UnknownAction,
        Url,
        UsageLimits,
    )
    from cloudconsole.client.aio import AsyncConsole


__all__ = [
    "About",
    "AsyncConsole",
    "ConnectionFailed",
    "Console",
    "ConsoleError",
    "Consumption",
    "Cost",
    "CsrfFailed",
    "Domain",
    "Flavor",
    "Flavors",
    "InvalidCredentials",
    "LoginRequired",
    "NewsItem",
    "NotFound",
    "Origin",
    "ProtocolError",
    "Quota",
    "RateLimited",
    "RegionRequired",
    "RequestRefused",
    "SavedCookie",
    "ServerError",
    "Session",
    "Units",
    "UnknownAction",
    "Url",
    "UsageLimits",
    "__version__",
]


if not TYPE_CHECKING:  # A type checker would take any name for one that is here.

    def __getattr__(name: str) -> Any:
        """The client, only once it is asked for: neither the server nor `cloudconsole --help` waits for it."""
        if name in __all__:
            home = "cloudconsole.client.aio" if name == "AsyncConsole" else "cloudconsole.client"
            return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

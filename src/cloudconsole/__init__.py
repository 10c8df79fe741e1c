"""Cloud Console: a programmatic interface to a cloud hosting console, and its Python client."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cloudconsole._version import __version__

if TYPE_CHECKING:
    from cloudconsole.client import (
        About,
        Announcement,
        ConnectionFailed,
        Console,
        ConsoleClosed,
        ConsoleError,
        Consumption,
        Cost,
        CostExport,
        CostSummary,
        CsrfFailed,
        Domain,
        DomainSummary,
        Estimate,
        EstimateItem,
        Flavor,
        Flavors,
        Forecast,
        InvalidCredentials,
        LoginRequired,
        MonthlyBill,
        NewsItem,
        NotFound,
        Origin,
        Price,
        ProtocolError,
        Quota,
        QuotaNeed,
        RateLimited,
        RegionRequired,
        RequestEvent,
        RequestRefused,
        ResourceCost,
        ResponseEvent,
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
    "Announcement",
    "AsyncConsole",
    "ConnectionFailed",
    "Console",
    "ConsoleClosed",
    "ConsoleError",
    "Consumption",
    "Cost",
    "CostExport",
    "CostSummary",
    "CsrfFailed",
    "Domain",
    "DomainSummary",
    "Estimate",
    "EstimateItem",
    "Flavor",
    "Flavors",
    "Forecast",
    "InvalidCredentials",
    "LoginRequired",
    "MonthlyBill",
    "NewsItem",
    "NotFound",
    "Origin",
    "Price",
    "ProtocolError",
    "Quota",
    "QuotaNeed",
    "RateLimited",
    "RegionRequired",
    "RequestEvent",
    "RequestRefused",
    "ResourceCost",
    "ResponseEvent",
    "SavedCookie",
    "ServerError",
    "Session",
    "Units",
    "UnknownAction",
    "Url",
    "UsageLimits",
    "__version__",
]


if not TYPE_CHECKING:  # Otherwise type checkers would accept any name.

    def __getattr__(name: str) -> Any:
        """Import the client on first use: the server and `cloudconsole --help` do not need it."""
        if name in __all__:
            module = "cloudconsole.client.aio" if name == "AsyncConsole" else "cloudconsole.client"
            return getattr(import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Python client: `Console` and `AsyncConsole` over one I/O-free protocol implementation.

`AsyncConsole` is in `cloudconsole.client.aio`, so that only its users import the async dependencies.
"""

from cloudconsole.client.exceptions import (
    ConnectionFailed,
    ConsoleError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    NotFound,
    ProtocolError,
    RateLimited,
    RegionRequired,
    RequestRefused,
    ServerError,
    UnknownAction,
)
from cloudconsole.client.models import (
    About,
    Consumption,
    Cost,
    Domain,
    DomainSummary,
    Estimate,
    Flavor,
    Flavors,
    NewsItem,
    Origin,
    Price,
    Quota,
    QuotaNeed,
    Units,
    Url,
    UsageLimits,
)
from cloudconsole.client.session import SavedCookie, Session
from cloudconsole.client.sync import Console

__all__ = [
    "About",
    "ConnectionFailed",
    "Console",
    "ConsoleError",
    "Consumption",
    "Cost",
    "CsrfFailed",
    "Domain",
    "DomainSummary",
    "Estimate",
    "Flavor",
    "Flavors",
    "InvalidCredentials",
    "LoginRequired",
    "NewsItem",
    "NotFound",
    "Origin",
    "Price",
    "ProtocolError",
    "Quota",
    "QuotaNeed",
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
]

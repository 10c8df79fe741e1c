"""The callers' side: one request over HTTP, its answer or how it failed, and when each began and ended."""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import httpx2

from history.recording import Answer

DEADLINE_SECONDS: Final = 10.0
"""Longer than a console needs to find out that it cannot answer."""


class Place(Protocol):
    """A replica, wherever it may listen at the moment."""

    @property
    def base(self) -> str: ...


@dataclass(frozen=True)
class Cookies:
    """What a caller holds."""

    session_id: str
    token: str


@dataclass(frozen=True)
class Reply:
    begin: float
    end: float
    answer: Answer
    cookies: Mapping[str, str]


def client_from(address: str) -> httpx2.AsyncClient:
    """One that calls from this address, as often at once as it likes; deadlines are its caller's."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    # Replicas speak plain HTTP; to load all that the system trusts for each client would take longer than many calls.
    trusting_nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = httpx2.AsyncHTTPTransport(verify=trusting_nobody, local_address=address, limits=limits, trust_env=False)
    return httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False)


class Wire:
    """Requests from one address of this machine, so that failed logins throttle nobody else's."""

    def __init__(self, now: Callable[[], float], address: str) -> None:
        self._now = now
        self._client = client_from(address)

    async def open(self, place: Place) -> Reply:
        return await self._send(place, "GET", "/api/", {}, b"")

    async def login(self, place: Place, opened: Cookies, account: str, password: str) -> Reply:
        fields = {"username": account, "password": password, "region": f"{place.base}/v3"}
        body = str(httpx2.QueryParams({"csrfmiddlewaretoken": opened.token, **fields})).encode()
        return await self._send(place, "POST", "/auth/login/", {"Content-Type": FORM, **_held(opened)}, body)

    async def logout(self, place: Place, cookies: Cookies) -> Reply:
        return await self._send(place, "POST", "/auth/logout/", _held(cookies), b"")

    async def call(self, place: Place, cookies: Cookies, action: str) -> Reply:
        headers = {"Content-Type": JSON, **_held(cookies)}
        return await self._send(place, "POST", "/api/", headers, json.dumps({"action": action}).encode())

    async def _send(self, place: Place, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        begin = self._now()
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                response = await self._client.request(method, f"{place.base}{path}", headers=headers, content=body)
        except (httpx2.TransportError, TimeoutError, OSError) as failure:
            return Reply(begin, self._now(), Answer(error=type(failure).__name__), {})
        end = self._now()
        cookies = dict(response.cookies)
        # Each caller says by itself which cookies it sends.
        self._client.cookies.clear()
        return Reply(begin, end, _answer(response), cookies)

    async def close(self) -> None:
        await self._client.aclose()


FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"


def _held(cookies: Cookies) -> dict[str, str]:
    return {"Cookie": f"sessionid={cookies.session_id}; csrftoken={cookies.token}", "X-CSRFToken": cookies.token}


def _answer(response: httpx2.Response) -> Answer:
    try:
        envelope = response.json() if response.content else {}
    except ValueError:
        envelope = {"error": f"no JSON: {response.text[:200]!r}"}
    retry_after = response.headers.get("retry-after")
    return Answer(response.status_code, envelope.get("error", ""), retry_after, envelope.get("data"))

"""HTTP clients of tenants: log in, log out and call actions on any replica, recording every operation."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from types import TracebackType
from typing import Final, Protocol, Self

import httpx2

from consistency.history import HistoryRecorder, Login, Logout, Read, Response

ACTIONS: Final = ("GetUsageLimits", "GetConsumptionsEstimated", "GetNews")
TIMEOUT_SECONDS: Final = 10.0
"""Longer than a console takes to report that it cannot serve a request."""
MAX_ENDED: Final = 4
"""Ended sessions retained per account."""
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"


class Endpoint(Protocol):
    """A replica at its current URL."""

    @property
    def base(self) -> str: ...


@dataclass(frozen=True)
class Cookies:
    session_id: str
    token: str


@dataclass(frozen=True)
class TimedResponse:
    begin: float
    end: float
    response: Response
    cookies: Mapping[str, str]


def loopback_address(number: int) -> str:
    """Return one of the many addresses of the loopback interface."""
    return f"127.1.{number // 250}.{1 + number % 250}"


def http_client(address: str) -> httpx2.AsyncClient:
    """Create a client that connects from an address, without limits; timeouts are up to its user."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    # Replicas speak plain HTTP; loading the system's CA certificates per client takes longer than many requests.
    no_ca = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = httpx2.AsyncHTTPTransport(verify=no_ca, local_address=address, limits=limits, trust_env=False)
    return httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False)


class ApiClient:
    """Sends API requests from one address; its cookie jar stays empty, cookies are passed explicitly."""

    def __init__(self, now: Callable[[], float], address: str) -> None:
        self._now = now
        self._client = http_client(address)

    async def open(self, endpoint: Endpoint) -> TimedResponse:
        return await self._send(endpoint, "GET", "/api/", {}, b"")

    async def login(self, endpoint: Endpoint, anonymous: Cookies, account: str, password: str) -> TimedResponse:
        fields = {"username": account, "password": password, "region": f"{endpoint.base}/v3"}
        body = str(httpx2.QueryParams({"csrfmiddlewaretoken": anonymous.token, **fields})).encode()
        headers = {"Content-Type": FORM, **_cookie_headers(anonymous)}
        return await self._send(endpoint, "POST", "/auth/login/", headers, body)

    async def logout(self, endpoint: Endpoint, cookies: Cookies) -> TimedResponse:
        return await self._send(endpoint, "POST", "/auth/logout/", _cookie_headers(cookies), b"")

    async def call(self, endpoint: Endpoint, cookies: Cookies, action: str) -> TimedResponse:
        headers = {"Content-Type": JSON, **_cookie_headers(cookies)}
        return await self._send(endpoint, "POST", "/api/", headers, json.dumps({"action": action}).encode())

    async def _send(
        self, endpoint: Endpoint, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> TimedResponse:
        begin = self._now()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                response = await self._client.request(method, f"{endpoint.base}{path}", headers=headers, content=body)
        except (httpx2.TransportError, TimeoutError, OSError) as failure:
            return TimedResponse(begin, self._now(), Response(error=type(failure).__name__), {})
        end = self._now()
        cookies = dict(response.cookies)
        self._client.cookies.clear()
        return TimedResponse(begin, end, _parse(response), cookies)

    async def close(self) -> None:
        await self._client.aclose()


def _cookie_headers(cookies: Cookies) -> dict[str, str]:
    return {"Cookie": f"sessionid={cookies.session_id}; csrftoken={cookies.token}", "X-CSRFToken": cookies.token}


def _parse(response: httpx2.Response) -> Response:
    try:
        envelope = response.json() if response.content else {}
    except ValueError:
        envelope = {"error": f"not JSON: {response.text[:200]!r}"}
    retry_after = response.headers.get("retry-after")
    return Response(response.status_code, envelope.get("error", ""), retry_after, envelope.get("data"))


@dataclass(eq=False)
class ClientSession:
    """A session under its name in the history."""

    name: str
    account: str
    cookies: Cookies
    opened: float


@dataclass
class SessionPool:
    """The sessions of an account: those believed to be live, and the last ones that ended."""

    live: list[ClientSession] = field(default_factory=list)
    ended: deque[ClientSession] = field(default_factory=lambda: deque(maxlen=MAX_ENDED))

    def end(self, session: ClientSession) -> None:
        if session in self.live:
            self.live.remove(session)
            self.ended.append(session)

    def end_before(self, moment: float) -> None:
        """End all sessions that were opened before a moment."""
        for session in [session for session in self.live if session.opened <= moment]:
            self.end(session)

    def choose(self, rng: Random, ended_probability: float) -> ClientSession | None:
        sessions = self.ended if rng.random() < ended_probability else self.live
        return rng.choice(sessions) if sessions else None


class TenantClients:
    """A client per account, and the sessions of each."""

    def __init__(self, recorder: HistoryRecorder, endpoints: Sequence[Endpoint], accounts: Iterable[str]) -> None:
        self._recorder, self._endpoints = recorder, endpoints
        self.sessions = {account: SessionPool() for account in accounts}
        # Each account has its own address, so failed logins throttle only that account.
        self._clients = {
            account: ApiClient(recorder.now, loopback_address(number)) for number, account in enumerate(self.sessions)
        }
        self._anonymous: dict[str, Cookies] = {}
        self._names = (f"s{number}" for number in count(1))

    @property
    def replicas(self) -> range:
        return range(len(self._endpoints))

    async def login(self, replica: int, account: str, password: str) -> bool:
        """Try to log in; return whether that opened a session."""
        endpoint, client = self._endpoints[replica], self._clients[account]
        if account not in self._anonymous:
            opened = await client.open(endpoint)
            if opened.response.status != 200:
                return False
            self._anonymous[account] = Cookies(opened.cookies["sessionid"], opened.cookies["csrftoken"])
        anonymous = self._anonymous[account]
        timed = await client.login(endpoint, anonymous, account, password)
        session = ""
        if timed.response.status == 200:
            session = next(self._names)
            cookies = Cookies(timed.cookies["sessionid"], anonymous.token)
            self.sessions[account].live.append(ClientSession(session, account, cookies, timed.end))
        self._recorder.add(
            Login(
                begin=timed.begin,
                end=timed.end,
                account=account,
                password=password,
                replica=replica,
                session=session,
                response=timed.response,
            )
        )
        return bool(session)

    async def logout(self, replica: int, session: ClientSession) -> None:
        """Log out; the session counts as ended regardless of the outcome."""
        timed = await self._clients[session.account].logout(self._endpoints[replica], session.cookies)
        self.sessions[session.account].end(session)
        self._recorder.add(
            Logout(begin=timed.begin, end=timed.end, session=session.name, replica=replica, response=timed.response)
        )

    async def read(self, replica: int, session: ClientSession, action: str) -> Response:
        timed = await self._clients[session.account].call(self._endpoints[replica], session.cookies, action)
        if timed.response.status == 401:
            self.sessions[session.account].end(session)
        read = Read(
            begin=timed.begin,
            end=timed.end,
            session=session.name,
            replica=replica,
            action=action,
            response=timed.response,
        )
        self._recorder.add(read)
        return timed.response

    async def read_everywhere(self, session: ClientSession, *actions: str) -> None:
        """Read on all replicas concurrently."""
        await asyncio.gather(*(self.read(replica, session, action) for replica in self.replicas for action in actions))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients.values():
            await client.close()

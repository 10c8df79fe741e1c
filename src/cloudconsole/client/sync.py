"""`Console`: a console to call from threads."""

import ssl
import time
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from cloudconsole.client import decoding
from cloudconsole.client.exceptions import ConnectionFailed, ConsoleError
from cloudconsole.client.flow import ProtocolFlow, SendAs
from cloudconsole.client.models import About, Consumption, Domain, Flavors, NewsItem, Url, UsageLimits
from cloudconsole.client.responses import HttpResponse
from cloudconsole.client.retry import RetryPolicy, validate_timeout
from cloudconsole.client.session import Password, Session, make_credentials
from cloudconsole.client.steps import Pause, Renew, Send, Steps
from cloudconsole.client.transport import IncomingBody, client_options, request_arguments, timeout_for
from cloudconsole.client.transport import connection_failed as failure_of

T = TypeVar("T")


class Console:
    """A console, logged in to with the first call. Threads may share it; a session that ends is renewed for all."""

    def __init__(
        self,
        base_url: str,
        *,
        region: str | None = None,
        username: str | None = None,
        password: Password | None = None,
        session: Session | None = None,
        timeout: float = 10.0,
        deadline: float = 30.0,
        language: str | None = None,
        send_as: SendAs = "json",
        verify: ssl.SSLContext | bool = True,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """`timeout` bounds one request, `deadline` a call with its login and repeats, both in seconds.

        `region` may be left out where the console offers exactly one. `session` is a kept one, so that no login is
        needed until it ends. `language` is the messages', "en" or "zh". `transport` replaces the network.
        """
        identity = make_credentials(base_url, region, username, password, session)
        self._timeout, deadline = validate_timeout("timeout", timeout), validate_timeout("deadline", deadline)
        self._http = httpx2.Client(
            **client_options(identity.base_url, language=language, verify=verify), transport=transport
        )
        self._address = identity.base_url
        self._core = ProtocolFlow(identity, session=session, deadline=deadline, send_as=send_as)
        self._one_at_a_time = Lock()

    @property
    def session(self) -> Session | None:
        """The session, to be kept and given to another `Console` later; None while nobody is logged in."""
        return self._core.session

    def login(self) -> None:
        """Log in now; otherwise the first call does."""
        retry_policy = self._core.retry_policy()
        with self._turn(retry_policy):
            self._run(self._core.login(retry_policy))

    def logout(self) -> None:
        """End the session. Later calls raise `LoginRequired` until `login()`."""
        retry_policy = self._core.retry_policy()
        with self._turn(retry_policy):
            self._run(self._core.logout(retry_policy))

    def about(self) -> About:
        """What the console said of itself when it was opened."""
        return self._run(self._core.about())

    def usage_limits(self) -> UsageLimits:
        return self._run(self._core.usage_limits())

    def flavors(self) -> Flavors:
        return self._run(self._core.flavors())

    def urls(self) -> list[Url]:
        return self._run(self._core.urls())

    def domain(self, domain_id: str) -> Domain:
        return self._run(self._core.domain(domain_id))

    def news(self) -> list[NewsItem]:
        """Newest first."""
        return self._run(self._core.news())

    def consumption(self) -> Consumption:
        return self._run(self._core.consumption())

    def call(self, action: str, /, **fields: Any) -> Any:
        """Any action by its name, with its fields; gives `data` as it came.

        A `Get…` is repeated after a lost connection; what may change something is not.
        """
        return self._run(self._core.call(action, fields, decoding.as_it_came))

    def close(self) -> None:
        """Close the connections; the session stays."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Console({self._address!r})"

    def _run(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                try:
                    response = self._perform(step)
                except ConsoleError as problem:
                    step = steps.throw(problem)
                else:
                    step = steps.send(response)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    def _perform(self, step: Send | Pause | Renew) -> HttpResponse | None:
        match step:
            case Send():
                return self._send(step)
            case Pause():
                time.sleep(step.seconds)
            case Renew():
                with self._turn(step.retry):
                    self._run(self._core.renew(step))
        return None

    @contextmanager
    def _turn(self, retry_policy: RetryPolicy) -> Generator[None]:
        if not self._one_at_a_time.acquire(timeout=max(retry_policy.remaining, 0)):
            raise ConnectionFailed(f"cannot reach {self._address}: another caller's login takes too long")
        try:
            yield
        finally:
            self._one_at_a_time.release()

    def _send(self, step: Send) -> HttpResponse:
        request = self._http.build_request(**request_arguments(self._address, step, self._timeout))
        try:
            response = self._http.send(request, stream=True)
            try:
                incoming = IncomingBody(timeout_for(step, self._timeout))
                for piece in response.iter_bytes():
                    incoming.add(piece)
            finally:
                response.close()
            return incoming.answer(response)
        except httpx2.HTTPError as problem:
            failure = failure_of(self._address, problem)
        raise failure

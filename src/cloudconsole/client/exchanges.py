"""Requests with their cookies and token, repeated while that may help: what every step of the protocol does alike."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from cloudconsole.client.answers import Answer
from cloudconsole.client.cookies import Cookies, csrf_token
from cloudconsole.client.errors import ConnectionFailed, ConsoleError, RateLimited, ServerError
from cloudconsole.client.patience import Patience
from cloudconsole.client.session import KeptCookie
from cloudconsole.client.steps import Pause, Send, Steps
from cloudconsole.spec.operations import CALL, Operation

T = TypeVar("T")


class Exchanges:
    """Those with one console."""

    def __init__(self, base_url: str, cookies: tuple[KeptCookie, ...]) -> None:
        self._referer = base_url + CALL.path
        self._cookies = Cookies(base_url, cookies)
        self._is_logging_in = False

    @property
    def cookies(self) -> tuple[KeptCookie, ...]:
        return self._cookies.all()

    def token_for(self, operation: Operation) -> str | None:
        return csrf_token(self._cookies.sent_to(operation.path))

    @contextmanager
    def logging_in(self) -> Generator[None]:
        """Within, and for what was sent before, no answer but the login's own sets a cookie."""
        self._cookies.begin_era()
        self._is_logging_in = True
        try:
            yield
        finally:
            self._is_logging_in = False
            self._cookies.begin_era()

    def forget(self) -> None:
        self._cookies.begin_era(forget=True)

    def send(
        self,
        operation: Operation,
        read: Callable[[Answer], T],
        patience: Patience,
        *,
        media_type: str | None = None,
        body: bytes = b"",
        may_repeat: bool = True,
        for_login: bool = False,
    ) -> Steps[T]:
        """One request, repeated while that may help and there is time; gives what is read from its answer."""
        refused: ConsoleError | None = None
        while True:
            era = self._cookies.era if for_login or not self._is_logging_in else None
            sent = self._cookies.sent_to(operation.path)
            try:
                answer = yield Send(operation, self._headers(sent, media_type), body, patience)
                self._cookies.take(answer.set_cookies, era)
                return read(answer)
            except (RateLimited, ServerError) as problem:
                wait = patience.wait_after(problem, may_repeat=may_repeat)
                if wait is None:
                    raise
                refused = problem
            except ConnectionFailed as problem:
                wait = patience.wait_after(problem, may_repeat=may_repeat)
                if wait is None:
                    # What was answered before says more than that the time is over.
                    raise refused or problem from None
            yield Pause(wait)

    def _headers(self, sent: tuple[KeptCookie, ...], media_type: str | None) -> dict[str, str]:
        headers = {"Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)} if sent else {}
        if media_type is None:
            return headers
        # The token is that of the very cookies that go along: some consoles change it at login. Some demand a Referer.
        return headers | {"Content-Type": media_type, "X-CSRFToken": csrf_token(sent) or "", "Referer": self._referer}

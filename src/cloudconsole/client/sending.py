"""Requests of a client: cookies, CSRF token, headers and hooks."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from cloudconsole.client.cookies import CookieJar, csrf_token
from cloudconsole.client.events import (
    RequestEvent,
    ResponseEvent,
    body_without_secrets,
    headers_without_secrets,
    secrets_of,
    without_values,
)
from cloudconsole.client.exceptions import (
    ConnectionFailed,
    ConsoleError,
    RateLimited,
    ServerError,
)
from cloudconsole.client.responses import (
    HttpResponse,
)
from cloudconsole.client.retry import RetryPolicy
from cloudconsole.client.session import SavedCookie
from cloudconsole.client.steps import Pause, Send, Steps
from cloudconsole.spec.operations import CALL_ACTION, Operation

T = TypeVar("T")


class RequestSender:
    """Sends requests to one console and stores its cookies."""

    def __init__(self, base_url: str, cookies: tuple[SavedCookie, ...]) -> None:
        self._base_url = base_url
        self._cookies = CookieJar(base_url, cookies)
        self._is_logging_in = False
        self._passwords: set[str] = set()

    def note_password(self, password: str) -> None:
        """Remove this password from errors and events from now on."""
        self._passwords |= {password}

    @property
    def base_url(self) -> str:
        return self._base_url

    @property
    def cookies(self) -> tuple[SavedCookie, ...]:
        return self._cookies.all()

    def token_for(self, operation: Operation) -> str | None:
        return csrf_token(self._cookies.sent_to(operation.path))

    @contextmanager
    def logging_in(self) -> Generator[None]:
        """Ignore cookies of all responses except the login's, including those of earlier requests."""
        self._cookies.begin_era()
        self._is_logging_in = True
        try:
            yield
        finally:
            self._is_logging_in = False
            self._cookies.begin_era()

    def clear(self) -> None:
        self._cookies.begin_era(forget=True)

    def send(
        self,
        operation: Operation,
        read: Callable[[HttpResponse], T],
        retry_policy: RetryPolicy,
        *,
        media_type: str | None = None,
        body: bytes = b"",
        may_repeat: bool = True,
        for_login: bool = False,
        call: str,
    ) -> Steps[T]:
        """Send a request, retry while useful and in time, and return what `read` makes of the response."""
        last_error: ConsoleError | None = None
        for attempt in count(1):
            era = self._cookies.era if for_login or not self._is_logging_in else None
            sent = self._cookies.sent_to(operation.path)
            try:
                headers = self._headers(sent, media_type) | retry_policy.options.sent_headers
                response = yield from self._exchange(Send(operation, headers, body, retry_policy), call, attempt)
                self._cookies.take(response.set_cookies, era)
                return self._read(response, read, headers)
            except (RateLimited, ServerError) as problem:
                wait = retry_policy.wait_after(problem, may_repeat=may_repeat)
                if wait is None:
                    raise
                last_error = problem
            except ConnectionFailed as problem:
                wait = retry_policy.wait_after(problem, may_repeat=may_repeat)
                if wait is None:
                    # An earlier error response says more than a timeout.
                    raise last_error or problem from None
            yield Pause(wait)
        raise AssertionError("unreachable: the last error is raised")

    def _read(self, response: HttpResponse, read: Callable[[HttpResponse], T], sent: dict[str, str]) -> T:
        try:
            return read(response)
        except ConsoleError as problem:
            problem.redact(secrets_of(self._passwords, sent, response.set_cookies))
            raise

    def _exchange(self, step: Send, call: str, attempt: int) -> Steps[HttpResponse]:
        """Send a request, and report it and its response to the hooks."""
        on_request, on_response = step.retry.options.on_request, step.retry.options.on_response
        if on_request is None and on_response is None:
            unobserved: HttpResponse = yield step
            return unobserved
        secrets = secrets_of(self._passwords, step.headers)
        request = RequestEvent(
            call=call,
            attempt=attempt,
            method=step.operation.method,
            url=self._base_url + step.operation.path,
            headers=headers_without_secrets(step.headers, secrets),
            body=body_without_secrets(step.body, step.headers.get("Content-Type"), secrets),
        )
        if on_request is not None:
            on_request(request)
        response: HttpResponse | None = None
        failure: ConsoleError | None = None
        began = time.monotonic()
        try:
            response = yield step
        except ConsoleError as problem:
            failure = problem
        if on_response is not None:
            if response is not None:
                secrets = secrets_of(self._passwords, step.headers, response.set_cookies)
            on_response(
                ResponseEvent(
                    request=request,
                    status=None if response is None else response.status,
                    headers={} if response is None else headers_without_secrets(response.headers, secrets),
                    body=b"" if response is None else without_values(response.body, secrets),
                    seconds=time.monotonic() - began,
                    error=failure,
                )
            )
        if response is None:
            raise failure or AssertionError("a request has a response or an error")
        return response

    def _headers(self, sent: tuple[SavedCookie, ...], media_type: str | None) -> dict[str, str]:
        headers = {"Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)} if sent else {}
        if media_type is None:
            return headers
        # The token must match the cookies of this request: some consoles change it at login. Some require a Referer.
        return headers | {
            "Content-Type": media_type,
            "X-CSRFToken": csrf_token(sent) or "",
            "Referer": self._base_url + CALL_ACTION.path,
        }

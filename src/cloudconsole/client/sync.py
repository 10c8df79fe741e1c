"""`Console`: the synchronous client."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import date
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from cloudconsole.client import decoding
from cloudconsole.client.actions import ActionFlow, cost_fields
from cloudconsole.client.events import RequestEvent, ResponseEvent
from cloudconsole.client.exceptions import ConnectionFailed, ConsoleClosed, ConsoleError
from cloudconsole.client.extension_models import (
    Announcement,
    CostExport,
    CostSummary,
    DomainSummary,
    Estimate,
    EstimateItem,
    Forecast,
    MonthlyBill,
    Price,
    ResourceCost,
)
from cloudconsole.client.flow import ProtocolFlow, SendAs
from cloudconsole.client.models import (
    About,
    Consumption,
    Domain,
    Flavors,
    NewsItem,
    Url,
    UsageLimits,
)
from cloudconsole.client.options import CallOptions
from cloudconsole.client.responses import HttpResponse
from cloudconsole.client.retry import RetryPolicy
from cloudconsole.client.session import Password, Session, make_credentials
from cloudconsole.client.steps import Pause, Renew, Send, Steps
from cloudconsole.client.transport import (
    IncomingBody,
    Verify,
    client_options,
    request_arguments,
    request_failed,
    timeout_for,
)
from cloudconsole.spec.extensions import ExportFormat
from cloudconsole.spec.i18n import Language

T = TypeVar("T")


class Console:
    """Client of one console; logs in on the first call. Safe to share between threads, which share session renewal."""

    def __init__(
        self,
        base_url: str,
        *,
        region: str | None = None,
        project: str | None = None,
        username: str | None = None,
        password: Password | None = None,
        session: Session | None = None,
        timeout: float = 10.0,
        deadline: float = 30.0,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        language: Language | None = None,
        send_as: SendAs = "json",
        verify: Verify = True,
        transport: httpx2.BaseTransport | None = None,
        on_request: Callable[[RequestEvent], object] | None = None,
        on_response: Callable[[ResponseEvent], object] | None = None,
    ) -> None:
        """`timeout` limits one request, `deadline` a call including login and retries, both in seconds.

        `retries` limits the repeated requests of a call; by default only the deadline does. `headers` are sent with
        every request. `region` is optional if the console offers exactly one. `project` is the name or the ID of an
        OpenStack project; by default it is the user's. `session` resumes a saved session, so that no login is needed
        until it ends. `language` selects the language of messages, "en" or "zh". `transport` replaces the HTTP
        transport. `on_request` and `on_response` are called before and after each request.
        """
        credentials = make_credentials(base_url, region, project, username, password, session)
        options = CallOptions(
            timeout=timeout,
            deadline=deadline,
            retries=retries,
            headers={} if headers is None else headers,
            on_request=on_request,
            on_response=on_response,
        )
        self._http = httpx2.Client(
            **client_options(credentials.base_url, language=language, verify=verify), transport=transport
        )
        self._base_url = credentials.base_url
        self._protocol = ProtocolFlow(credentials, session=session, send_as=send_as)
        self._flow = ActionFlow(self._protocol, options)
        self._login_lock = Lock()

    @property
    def session(self) -> Session | None:
        """The session, to save and pass to another `Console` later; None while not logged in."""
        return self._protocol.session

    def with_options(
        self,
        *,
        timeout: float | None = None,
        deadline: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        request_id: str | None = None,
    ) -> Self:
        """Return this client with other options for its calls; it shares session and connections.

        What is None stays as it is, and `headers` are added to those of this client. `request_id` identifies the
        requests in the console's log.
        """
        other = copy(self)
        other._flow = ActionFlow(
            self._protocol,
            self._flow.options.changed(
                timeout=timeout, deadline=deadline, retries=retries, headers=headers, request_id=request_id
            ),
        )
        return other

    def login(self) -> None:
        """Log in now instead of on the first call."""
        retry_policy = self._flow.retry_policy()
        with self._locked(retry_policy):
            self._run(self._protocol.login(retry_policy))

    def logout(self) -> None:
        """End the session. Later calls raise `LoginRequired` until `login()`."""
        retry_policy = self._flow.retry_policy()
        with self._locked(retry_policy):
            self._run(self._protocol.logout(retry_policy))

    def about(self) -> About:
        """Return the description that the console gives at `GET /api/`."""
        return self._run(self._flow.about())

    def usage_limits(self) -> UsageLimits:
        """Return what the tenant uses of each quota, and the limits."""
        return self._run(self._flow.usage_limits())

    def flavors(self) -> Flavors:
        """Return the sizes that instances may have."""
        return self._run(self._flow.flavors())

    def urls(self) -> list[Url]:
        """Return the tenant's URLs."""
        return self._run(self._flow.urls())

    def domain(self, domain_id: str) -> Domain:
        """Return the details of one of the tenant's domains."""
        return self._run(self._flow.domain(domain_id))

    def news(self) -> list[NewsItem]:
        """Return the announcements, newest first."""
        return self._run(self._flow.news())

    def consumption(self) -> Consumption:
        """Return what the tenant's resources cost per hour, day, month and year at present prices, by kind."""
        return self._run(self._flow.consumption())

    def domains(self) -> list[DomainSummary]:
        """Return all of the tenant's domains, ordered by ID."""
        return self._run(self._flow.domains())

    def announcements(self) -> list[Announcement]:
        """Return the announcements, newest first, with language and importance."""
        return self._run(self._flow.announcements())

    def prices(self) -> list[Price]:
        """Return the prices in force and to come."""
        return self._run(self._flow.prices())

    def estimate(self, items: Sequence[EstimateItem], hours: int | None = None) -> Estimate:
        """Return what resources would cost, and whether they fit.

        An item is such as `{"res_type": "instance", "flavor": "1", "count": 2}`; see `EstimateItem`.
        """
        return self._run(self._flow.estimate(items, hours))

    def cost_summary(self, region: str = "") -> list[CostSummary]:
        """Return what resources have cost so far by kind, on all nodes or on one; the last item is the sum."""
        return self._run(self._flow.cost_summary(region))

    def costs(
        self,
        first: date | str | None = None,
        last: date | str | None = None,
        *,
        res_type: str = "",
        region: str = "",
        by_day: bool = False,
    ) -> list[ResourceCost]:
        """Return what each resource has cost from one day to another, by default in the current month up to today.

        Costs end with each month, and `by_day` with each day.
        """
        return self._run(self._flow.costs(cost_fields(first, last, res_type, region, by_day=by_day)))

    def monthly_bills(self) -> list[MonthlyBill]:
        """Return the cost of each of the last twelve months, oldest first."""
        return self._run(self._flow.monthly_bills())

    def forecast(self) -> Forecast:
        """Return what the current month will cost if nothing changes."""
        return self._run(self._flow.forecast())

    def cost_export(self, month: str, *, format: ExportFormat = "focus") -> CostExport:  # noqa: A002
        """Return what each resource has cost in a month such as `2026-10`, with the columns of FOCUS 1.2 or fewer."""
        return self._run(self._flow.cost_export(month, format))

    def call(self, action: str, /, **fields: Any) -> Any:
        """Call any action by name and return its `data` unchanged.

        A `Get…` action is retried after a lost connection; others, which may change something, are not.
        """
        return self._run(self._flow.call(action, fields, decoding.as_it_came))

    def close(self) -> None:
        """Close the connections; the session remains valid. Later calls raise `ConsoleClosed`."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Console({self._base_url!r})"

    def _run(self, steps: Steps[T]) -> T:
        if self._http.is_closed:
            raise ConsoleClosed(self._base_url)
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
                with self._locked(step.retry):
                    self._run(self._protocol.renew(step))
        return None

    @contextmanager
    def _locked(self, retry_policy: RetryPolicy) -> Generator[None]:
        if not self._login_lock.acquire(timeout=max(retry_policy.remaining, 0)):
            raise ConnectionFailed(f"cannot reach {self._base_url}: a concurrent login takes too long")
        try:
            yield
        finally:
            self._login_lock.release()

    def _send(self, step: Send) -> HttpResponse:
        request = self._http.build_request(**request_arguments(self._base_url, step))
        try:
            response = self._http.send(request, stream=True)
            try:
                body = IncomingBody(timeout_for(step))
                for chunk in response.iter_bytes():
                    body.add(chunk)
            finally:
                response.close()
            return body.response(response)
        except (httpx2.HTTPError, RuntimeError) as problem:
            failure = request_failed(self._base_url, problem, is_closed=self._http.is_closed)
        raise failure

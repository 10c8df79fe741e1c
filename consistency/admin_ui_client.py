"""Client of the admin UI: an operator signs in on any replica, opens a form, fills it in and submits it."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import count
from typing import Final, NamedTuple
from urllib.parse import unquote, urlencode

import httpx2

from consistency.admin_commands import WriteResult
from consistency.generators import Change
from consistency.history import HistoryRecorder, Login, Read, Response
from consistency.initial_cloud import initial_password
from consistency.tenant_client import FORM, TIMEOUT_SECONDS, Endpoint, http_client

HOME: Final = "/admin/"
SIGN_IN: Final = "/admin/sign-in/"
NOTICE_COOKIE: Final = "operatornotice"
NO_OP_NOTICES: Final = ("nothing to change", "is there already")
CONFIRMATIONS: Final = "confirmations"
MAX_QUESTIONS: Final = 3
REDIRECT: Final = 303
PAGE_READ: Final = "admin page"
"""The action of a page read in the history."""


@dataclass
class HtmlForm:
    """A form's action and fields; unchecked checkboxes have no field."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class HtmlPage(HTMLParser):
    """The forms and the alert of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[HtmlForm] = []
        self.confirmations = ""
        """Value of the button that confirms the question on the page, if there is one."""
        self._alert: list[str] | None = None
        self._depth = 0
        self.feed(html)
        self.close()

    @property
    def alert(self) -> str:
        return " ".join("".join(self._alert or []).split())

    def form(self, path: str) -> HtmlForm | None:
        """Return the form that is submitted to a path."""
        return next((form for form in self.forms if form.action.partition("?")[0] == path), None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(HtmlForm(attributes.get("action", "")))
        elif tag == "input" and self.forms and (attributes.get("type") != "checkbox" or "checked" in attributes):
            self.forms[-1].fields[attributes.get("name", "")] = attributes.get("value", "on")
        elif tag == "button" and attributes.get("name") == CONFIRMATIONS:
            self.confirmations = attributes.get("value", "")
        if attributes.get("role") == "alert" and self._alert is None:
            self._alert, self._depth = [], 1
        elif self._depth and tag not in ("input", "br"):
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._depth = max(self._depth - 1, 0)

    def handle_data(self, data: str) -> None:
        if self._depth and self._alert is not None:
            self._alert.append(data)


class Submission(NamedTuple):
    """A submitted form and its result."""

    begin: float
    end: float
    result: WriteResult


class NotServed(Exception):
    """No response, or a rejection: 401, 429 or 503."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.error or str(response.status))
        self.response = response


class UnexpectedResponse(Exception):
    """A response that the console should never send."""


class AdminUiClient:
    """The browser of one operator; its cookies are valid on every replica. Every page read is recorded."""

    def __init__(self, recorder: HistoryRecorder, endpoints: Sequence[Endpoint], operator: str, address: str) -> None:
        self._recorder, self._endpoints, self.operator = recorder, endpoints, operator
        self._client = http_client(address)
        self._session = ""
        """Name of the session in the history; empty if there is none."""
        self._names = (f"{operator}/{number}" for number in count(1))

    @property
    def replicas(self) -> range:
        return range(len(self._endpoints))

    async def apply(self, replica: int, change: Change) -> Submission | None:
        """Make a change; return None if the form was not submitted, so that nothing can have changed."""
        begin = self._recorder.now()
        try:
            if not self._session:
                await self._sign_in(replica)
            form = await self._open_form(replica, change)
            begin = self._recorder.now()
            result = await self._submit(replica, form, change)
        except NotServed as problem:
            if problem.response.status == 401:
                self.forget_session()
            return None
        except UnexpectedResponse as problem:
            result = WriteResult("rejected", problem=str(problem))
        return Submission(begin, self._recorder.now(), result)

    async def read_everywhere(self) -> None:
        """Read a page on all replicas in this session."""

        async def read(replica: int) -> None:
            with suppress(NotServed, UnexpectedResponse):
                await self._read(replica, HOME)

        await asyncio.gather(*map(read, self.replicas))

    def forget_session(self) -> None:
        """Drop the ended session; the next change signs in first."""
        self._client.cookies.clear()
        self._session = ""

    async def close(self) -> None:
        await self._client.aclose()

    async def _sign_in(self, replica: int) -> None:
        form = _find_form(await self._request("GET", replica, SIGN_IN), SIGN_IN)
        password, session = initial_password(self.operator), next(self._names)
        credentials = {"username": self.operator, "password": password}
        begin = self._recorder.now()
        try:
            http = await self._request("POST", replica, SIGN_IN, {**form.fields, **credentials})
            response = Response(200) if http.status_code == REDIRECT else Response(http.status_code, _summary(http))
        except NotServed as problem:
            response = problem.response
        if response.status == 200:
            self._session = session
        login = Login(
            begin=begin,
            end=self._recorder.now(),
            account=self.operator,
            password=password,
            replica=replica,
            session=self._session,
            via_ui=True,
            response=response,
        )
        self._recorder.add(login)
        if not self._session:
            raise NotServed(response)

    async def _read(self, replica: int, path: str) -> httpx2.Response:
        session, begin = self._session, self._recorder.now()
        http = None
        try:
            http = await self._request("GET", replica, path)
            response = _session_status(http)
        except NotServed as problem:
            response = problem.response
        end = self._recorder.now()
        self._recorder.add(
            Read(begin=begin, end=end, session=session, replica=replica, action=PAGE_READ, response=response)
        )
        if http is None or response.status == 401:
            raise NotServed(response)
        return http

    async def _open_form(self, replica: int, change: Change) -> HtmlForm:
        entity, verb = change.register[0], change.verb
        page = "one" if verb == "change" else verb
        key = "" if verb == "add" else f"?{urlencode({'key': change.key})}"
        http = await self._read(replica, f"{HOME}{entity}/{page}/{key}")
        return _find_form(http, f"{HOME}{entity}/{verb}/")

    async def _submit(self, replica: int, form: HtmlForm, change: Change) -> WriteResult:
        """Submit a form; a forced change is confirmed as often as the console asks."""
        values = {**form.fields, **_form_input(change)}
        for _ in range(MAX_QUESTIONS):
            try:
                http = await self._request("POST", replica, form.action, values)
            except NotServed as problem:
                return WriteResult("unknown", problem=str(problem))
            question = HtmlPage(http.text).confirmations
            if not (change.is_forced and question):
                return _write_result(http)
            values[CONFIRMATIONS] = question
        raise UnexpectedResponse("the console asks again and again")

    async def _request(
        self, method: str, replica: int, path: str, fields: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        content = None if fields is None else urlencode(fields).encode()
        headers = {} if fields is None else {"Content-Type": FORM}
        url = self._endpoints[replica].base + path
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                http = await self._client.request(method, url, headers=headers, content=content)
        except (httpx2.TransportError, TimeoutError, OSError) as failure:
            raise NotServed(Response(error=type(failure).__name__)) from None
        if http.status_code in (429, 503):
            retry_after = http.headers.get("retry-after", "")
            if not retry_after.isdecimal():
                raise UnexpectedResponse(f"{http.status_code} without a valid Retry-After")
            raise NotServed(Response(http.status_code, retry_after=retry_after))
        return http


def _session_status(http: httpx2.Response) -> Response:
    """Tell whether the session was accepted; a 404 also requires a valid session."""
    if http.headers.get("location", "").startswith(SIGN_IN):
        return Response(401, "login_required")
    return Response(200) if http.status_code in (200, 404) else Response(http.status_code)


def _write_result(http: httpx2.Response) -> WriteResult:
    if _session_status(http).status == 401:
        raise UnexpectedResponse("redirected to the sign-in page in a valid session")
    if http.status_code != REDIRECT:
        raise UnexpectedResponse(_summary(http))
    notice = unquote(http.cookies.get(NOTICE_COOKIE) or "")
    return WriteResult("ok", changed=not notice.endswith(NO_OP_NOTICES))


def _form_input(change: Change) -> dict[str, str]:
    values = {name: str(value) for name, value in change.fields.items()}
    return {**values, "password_again": values["password"]} if "password" in values else values


def _find_form(http: httpx2.Response, path: str) -> HtmlForm:
    form = HtmlPage(http.text).form(path) if http.status_code == 200 else None
    if form is None:
        raise UnexpectedResponse(f"no form for {path}: {_summary(http)}")
    return form


def _summary(http: httpx2.Response) -> str:
    return f"{http.status_code} {HtmlPage(http.text).alert}"[:200].strip()

"""An operator at the pages of whichever replica: signs in, asks for a form, fills it in and sends it."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Final, NamedTuple
from urllib.parse import unquote, urlencode

import httpx2

from history.cloud import first_password
from history.forms import Form, Page
from history.operators import Made
from history.plan import Change
from history.recorder import Recorder
from history.recording import Answer, Call, Login
from history.wires import DEADLINE_SECONDS, FORM, Place, client_from

START: Final = "/admin/"
SIGN_IN: Final = "/admin/sign-in/"
NOTICE: Final = "operatornotice"
NOTHING_NEW: Final = ("nothing to change", "is there already")
SENT_ON: Final = 303
LOOK: Final = "operators' page"
"""What a recording calls it, beside the actions."""


class Sent(NamedTuple):
    """A form that was sent, and what came of it."""

    begin: float
    end: float
    made: Made


class NotServed(Exception):
    """Nothing came back, or only that this is not the time."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error or str(answer.status))
        self.answer = answer


class Odd(Exception):
    """An answer that there should not be."""


class Pages:
    """One account's browser: its cookies are good on every replica. Whether they are goes into the recording."""

    def __init__(self, recorder: Recorder, places: Sequence[Place], operator: str, address: str) -> None:
        self._recorder, self._places, self.operator = recorder, places, operator
        self._client = client_from(address)
        self._session = ""
        """What it is called in the recording; nothing while there is none."""
        self._names = (f"{operator}/{number}" for number in count(1))

    @property
    def replicas(self) -> range:
        return range(len(self._places))

    async def make(self, replica: int, change: Change) -> Sent | None:
        """Make a change; None where it did not come to that, and surely nothing was changed."""
        begin = self._recorder.now()
        try:
            if not self._session:
                await self._sign_in(replica)
            form = await self._form_for(replica, change)
            begin = self._recorder.now()
            made = await self._send(replica, form, _typed(change))
        except NotServed as problem:
            if problem.answer.status == 401:
                self.forget()
            return None
        except Odd as problem:
            made = Made("refused", problem=str(problem))
        return Sent(begin, self._recorder.now(), made)

    async def look_everywhere(self) -> None:
        """Ask every replica for a page, in this session."""

        async def look(replica: int) -> None:
            with suppress(NotServed, Odd):
                await self._look(replica, START)

        await asyncio.gather(*map(look, self.replicas))

    def forget(self) -> None:
        """To be called where the session has been ended: the next change begins with a sign-in."""
        self._client.cookies.clear()
        self._session = ""

    async def close(self) -> None:
        await self._client.aclose()

    async def _sign_in(self, replica: int) -> None:
        form = _form(await self._request("GET", replica, SIGN_IN), SIGN_IN)
        password, session = first_password(self.operator), next(self._names)
        who = {"username": self.operator, "password": password}
        begin = self._recorder.now()
        try:
            response = await self._request("POST", replica, SIGN_IN, {**form.fields, **who})
            answer = Answer(200) if response.status_code == SENT_ON else Answer(response.status_code, _told(response))
        except NotServed as problem:
            answer = problem.answer
        if answer.status == 200:
            self._session = session
        login = Login(
            begin=begin,
            end=self._recorder.now(),
            account=self.operator,
            password=password,
            replica=replica,
            session=self._session,
            at_pages=True,
            answer=answer,
        )
        self._recorder.add(login)
        if not self._session:
            raise NotServed(answer)

    async def _look(self, replica: int, path: str) -> httpx2.Response:
        session, begin = self._session, self._recorder.now()
        response = None
        try:
            response = await self._request("GET", replica, path)
            answer = _let_in(response)
        except NotServed as problem:
            answer = problem.answer
        end = self._recorder.now()
        self._recorder.add(Call(begin=begin, end=end, session=session, replica=replica, action=LOOK, answer=answer))
        if response is None or answer.status == 401:
            raise NotServed(answer)
        return response

    async def _form_for(self, replica: int, change: Change) -> Form:
        noun, verb = change.register[0], change.verb
        page = "one" if verb == "change" else verb
        key = "" if verb == "add" else f"?{urlencode({'key': change.key})}"
        response = await self._look(replica, f"{START}{noun}/{page}/{key}")
        return _form(response, f"{START}{noun}/{verb}/")

    async def _send(self, replica: int, form: Form, typed: Mapping[str, str]) -> Made:
        try:
            response = await self._request("POST", replica, form.action, {**form.fields, **typed})
        except NotServed as problem:
            return Made("unknown", problem=str(problem))
        if _let_in(response).status == 401:
            raise Odd("sent to the sign-in, though nothing had ended the session")
        if response.status_code != SENT_ON:
            raise Odd(_told(response))
        return Made("done", changed=not unquote(response.cookies.get(NOTICE) or "").endswith(NOTHING_NEW))

    async def _request(
        self, method: str, replica: int, path: str, fields: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        content = None if fields is None else urlencode(fields).encode()
        headers = {} if fields is None else {"Content-Type": FORM}
        address = self._places[replica].base + path
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                response = await self._client.request(method, address, headers=headers, content=content)
        except (httpx2.TransportError, TimeoutError, OSError) as failure:
            raise NotServed(Answer(error=type(failure).__name__)) from None
        if response.status_code in (429, 503):
            retry_after = response.headers.get("retry-after", "")
            if not retry_after.isdecimal():
                raise Odd(f"{response.status_code} without a sensible Retry-After")
            raise NotServed(Answer(response.status_code, retry_after=retry_after))
        return response


def _let_in(response: httpx2.Response) -> Answer:
    """Whether a session was; that there is no such thing is said only to who is."""
    if response.headers.get("location", "").startswith(SIGN_IN):
        return Answer(401, "login_required")
    return Answer(200) if response.status_code in (200, 404) else Answer(response.status_code)


def _typed(change: Change) -> dict[str, str]:
    typed = {name: str(value) for name, value in change.given.items()}
    return {**typed, "password_again": typed["password"]} if "password" in typed else typed


def _form(response: httpx2.Response, path: str) -> Form:
    form = Page(response.text).form(path) if response.status_code == 200 else None
    if form is None:
        raise Odd(f"no form for {path}: {_told(response)}")
    return form


def _told(response: httpx2.Response) -> str:
    return f"{response.status_code} {Page(response.text).complaint}"[:200].strip()

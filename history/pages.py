"""An operator at the pages of whichever replica: signs in, asks for a form, fills it in and sends it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote, urlencode

import httpx2

from history.cloud import first_password
from history.forms import Form, Page
from history.operators import Made
from history.plan import Change
from history.wires import DEADLINE_SECONDS, FORM, Place, client_from

START: Final = "/admin/"
SIGN_IN: Final = "/admin/sign-in/"
NOTICE: Final = "operatornotice"
NOTHING_NEW: Final = ("nothing to change", "is there already")
SENT_ON: Final = 303


class Sent(NamedTuple):
    """A form that was sent, and what came of it."""

    begin: float
    end: float
    made: Made


class NotServed(Exception):
    """Nothing came back, or only that this is not the time."""


class Odd(Exception):
    """An answer that there should not be."""


class Pages:
    """One account's browser: its cookies are good on every replica."""

    def __init__(self, now: Callable[[], float], places: Sequence[Place], operator: str, address: str) -> None:
        self._now, self._places, self.operator = now, places, operator
        self._client = client_from(address)
        self._is_signed_in = False

    @property
    def replicas(self) -> range:
        return range(len(self._places))

    async def make(self, replica: int, change: Change) -> Sent | None:
        """Make a change; None where it did not come to that, and surely nothing was changed."""
        base, begin = self._places[replica].base, self._now()
        try:
            if not self._is_signed_in:
                await self._sign_in(base)
            form = await self._form_for(base, change)
            begin = self._now()
            made = await self._send(base, form, _typed(change))
        except NotServed:
            return None
        except Odd as problem:
            made = Made("refused", problem=str(problem))
        return Sent(begin, self._now(), made)

    def forget(self) -> None:
        """To be called where the session has been ended: the next change begins with a sign-in."""
        self._client.cookies.clear()
        self._is_signed_in = False

    async def close(self) -> None:
        await self._client.aclose()

    async def _sign_in(self, base: str) -> None:
        form = _form(await self._request("GET", base, SIGN_IN), SIGN_IN)
        who = {"username": self.operator, "password": first_password(self.operator)}
        response = await self._request("POST", base, SIGN_IN, {**form.fields, **who})
        if response.status_code != SENT_ON:
            raise Odd(f"the sign-in was refused: {_told(response)}")
        self._is_signed_in = True

    async def _form_for(self, base: str, change: Change) -> Form:
        noun, verb = change.register[0], change.verb
        page = "one" if verb == "change" else verb
        key = "" if verb == "add" else f"?{urlencode({'key': change.key})}"
        response = await self._request("GET", base, f"{START}{noun}/{page}/{key}")
        self._refuse_sign_in(response)
        return _form(response, f"{START}{noun}/{verb}/")

    async def _send(self, base: str, form: Form, typed: Mapping[str, str]) -> Made:
        try:
            response = await self._request("POST", base, form.action, {**form.fields, **typed})
        except NotServed as problem:
            return Made("unknown", problem=str(problem))
        self._refuse_sign_in(response)
        if response.status_code != SENT_ON:
            raise Odd(_told(response))
        return Made("done", changed=not unquote(response.cookies.get(NOTICE) or "").endswith(NOTHING_NEW))

    def _refuse_sign_in(self, response: httpx2.Response) -> None:
        if response.headers.get("location", "").startswith(SIGN_IN):
            raise Odd("sent to the sign-in, though nothing had ended the session")

    async def _request(
        self, method: str, base: str, path: str, fields: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        content = None if fields is None else urlencode(fields).encode()
        headers = {} if fields is None else {"Content-Type": FORM}
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                response = await self._client.request(method, base + path, headers=headers, content=content)
        except (httpx2.TransportError, TimeoutError, OSError) as failure:
            raise NotServed(type(failure).__name__) from None
        if response.status_code in (429, 503):
            if not response.headers.get("retry-after", "").isdecimal():
                raise Odd(f"{response.status_code} without a sensible Retry-After")
            raise NotServed(str(response.status_code))
        return response


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

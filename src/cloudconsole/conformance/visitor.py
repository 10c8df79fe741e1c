"""Someone with a cookie jar of their own who follows the three steps."""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode

from cloudconsole.conformance.answers import Answer
from cloudconsole.conformance.budget import LOGIN_PATH
from cloudconsole.conformance.sending import NoAnswer, Sender
from cloudconsole.spec.constants import CSRF_COOKIE, FORM, JSON, SESSION_COOKIE

BodyForm = Literal["JSON", "form"]
Headers = Mapping[str, str | None]
"""A header given as None is left out."""
Guests = dict[str, "Visitor"]
"""Who may be logged in, by their sessions."""

MOST_COOKIES: Final = 50
"""Of those in a jar that nobody asked for; browsers keep not many more."""


class Account(NamedTuple):
    username: str
    password: str


class Visitor:
    def __init__(
        self, sender: Sender, region: str, jar: Mapping[str, str] | None = None, guests: Guests | None = None
    ) -> None:
        """Whoever may have logged in is entered among the guests, so that no session is left behind."""
        self.jar: dict[str, str] = dict(jar or {})
        self._sender = sender
        self._region = region
        self._guests: Guests = {} if guests is None else guests

    @property
    def token(self) -> str:
        """Read anew for each call: some servers change it at login."""
        return self.jar.get(CSRF_COOKIE, "")

    @property
    def session(self) -> str:
        return self.jar.get(SESSION_COOKIE, "")

    def twin(self, **jar: str) -> "Visitor":
        """Someone with a copy of the jar, in which some cookies differ."""
        return Visitor(self._sender, self._region, self.jar | jar, self._guests)

    def send(self, method: str, path: str, headers: Headers | None = None, body: bytes = b"") -> Answer:
        sent: dict[str, str | None] = {"Accept-Encoding": "identity", "User-Agent": "cloudconsole-conformance"}
        if self.jar:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        sent |= headers or {}
        given = {name: value for name, value in sent.items() if value is not None}
        is_login = (method, path) == ("POST", LOGIN_PATH)
        try:
            answer = self._sender.send(method, path, given, body)
        except NoAnswer:
            if is_login:
                self._come_in()
            raise
        self._keep_cookies(answer)
        is_refused = 400 <= answer.status < 500 and not answer.set_cookies
        if is_login and not is_refused:
            self._come_in()
        return answer

    def _keep_cookies(self, answer: Answer) -> None:
        for cookie in answer.set_cookies:
            if cookie.is_gone:
                self.jar.pop(cookie.name, None)
            elif cookie.name in (CSRF_COOKIE, SESSION_COOKIE, *self.jar) or len(self.jar) < MOST_COOKIES:
                self.jar[cookie.name] = cookie.value

    def _come_in(self) -> None:
        if self.session:
            self._guests[self.session] = self.twin()
            self._sender.budget.farewells = len(self._guests)

    def open(self, headers: Headers | None = None) -> Answer:
        return self.send("GET", "/api/", headers)

    def login(self, account: Account, headers: Headers | None = None, **changes: str | None) -> Answer:
        """A field given as None is left out."""
        fields: dict[str, str | None] = {
            "csrfmiddlewaretoken": self.token,
            "username": account.username,
            "password": account.password,
            "region": self._region,
            **changes,
        }
        form = urlencode({name: value for name, value in fields.items() if value is not None})
        return self.send("POST", LOGIN_PATH, {"Content-Type": FORM} | dict(headers or {}), form.encode())

    def call(
        self,
        action: str,
        form: BodyForm = "JSON",
        fields: Mapping[str, Any] | None = None,
        headers: Headers | None = None,
    ) -> Answer:
        fields = {"action": action, **(fields or {})}
        body = urlencode(fields) if form == "form" else json.dumps(fields)
        return self.post(body.encode(), FORM if form == "form" else JSON, headers)

    def post(self, body: bytes, content_type: str | None = JSON, headers: Headers | None = None) -> Answer:
        """A call with this very body."""
        sent: dict[str, str | None] = {"Content-Type": content_type, "X-CSRFToken": self.token}
        return self.send("POST", "/api/", sent | dict(headers or {}), body)

    def logout(self, headers: Headers | None = None) -> Answer:
        session = self.session
        answer = self.send("POST", "/auth/logout/", {"X-CSRFToken": self.token} | dict(headers or {}))
        if answer.status < 400:
            self._guests.pop(session, None)
            self._sender.budget.farewells = len(self._guests)
        return answer

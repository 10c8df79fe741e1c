"""Generate requests from the OpenAPI document: valid ones, and mutations of them."""

from random import Random
from typing import Any, Final, NamedTuple

from tests.harness import FORM, JSON

from fuzz.body_mutator import BodyMutator, Pairs, encode_pairs
from fuzz.response_validator import Request
from fuzz.values import Values

ODD_HEADERS: Final[dict[str, tuple[str, ...]]] = {
    "Content-Type": (
        "application/json; charset=utf-8",
        'APPLICATION/JSON;charset="UTF-8"',
        "application/json;charset=latin-1",
        "application/json, text/plain",
        "multipart/form-data; boundary=x",
        "text/plain",
        ";",
        "application/json;" * 40,
    ),
    "Host": ("evil.example", "127.0.0.1:99999", "[::1]", "[::1", "localhost.", "a@127.0.0.1", "127.0.0.1/x", "."),
    "Origin": ("null", "http://", "http://[", "https://127.0.0.1", "http://evil.example", "http://127.0.0.1:1:2"),
    "Sec-Fetch-Site": ("cross-site", "same-site", "same-origin", "none", "cross-site, none"),
    "X-CSRFToken": ("", "x", "0" * 64, "f" * 64, "\xe9" * 64),
    "X-Forwarded-For": ("203.0.113.9", "unknown", ",,,"),
    "X-Forwarded-Host": ("evil.example",),
    "X-Forwarded-Proto": ("https", "ftp"),
    "X-HTTP-Method-Override": ("DELETE",),
    "If-None-Match": ("*", '"x"', 'W/"'),
    "Range": ("bytes=0-1", "bytes=9-"),
    "Expect": ("nonsense",),
    "X-Request-ID": ("a" * 64, "a" * 65, "a b", "../x", "\xe9", ""),
    "Accept-Language": ("zh;q=2,en;q=nan", "*;q=0", ",;,", "zh-" * 15, "en;q=1e9"),
    "Cookie": ("", ";;;", "sessionid", "a[b]=1; $Version=1", "sessionid=" + "s" + "0" * 48, "csrftoken=" + "0" * 64),
}
LANGUAGES: Final = ("en", "zh", "zh-CN,zh;q=0.9,en;q=0.8", "fr", "")
METHODS: Final = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE")
OTHER_PATHS: Final = (
    "/",
    "/docs/",
    "/docs",
    "/openapi.json",
    "/api",
    "/auth/login",
    "/auth/",
    "/api//",
    "//",
    "/API/",
    "/favicon.ico",
)


class Session(NamedTuple):
    """Cookies of a logged-in client."""

    session_id: str
    token: str


class RequestGenerator:
    """Generates requests from a seeded random source."""

    def __init__(self, rng: Random, document: dict[str, Any], base: str, sessions: list[Session]) -> None:
        schemas = document["components"]["schemas"]
        self._rng = rng
        self._document = document
        self._region = f"{base}/v3"
        self._sessions = sessions
        self._values = Values(rng, schemas)
        self._mutator = BodyMutator(rng, self._values)
        call = document["paths"]["/api/"]["post"]["requestBody"]["content"]
        self._media = list(call)
        self._bodies = [schemas[each["$ref"].rpartition("/")[2]] for each in call[JSON]["schema"]["oneOf"]]
        self._examples = [each["value"] for each in call[JSON]["examples"].values()]
        self._login = schemas["LoginForm"]

    def next(self) -> Request:
        kind = self._rng.random()
        if kind < 0.4:
            return self.valid_call()
        if kind < 0.8:
            return self.mutated_call()
        if kind < 0.88:
            return self.open_session()
        if kind < 0.94:
            return self.invalid_login()
        return self.other_request()

    def valid_call(self) -> Request:
        """Generate a valid call of an action, with additional fields and headers that must be ignored."""
        return self.call_in(self._rng.choice(self._sessions))

    def call_in(self, session: Session) -> Request:
        schema = self._rng.choice(self._bodies)
        media = self._rng.choice(self._media)
        fields = self._values.valid(schema)
        examples = [example for example in self._examples if example["action"] == fields["action"]]
        if examples and self._rng.random() < 0.5:
            fields = dict(examples[0])
        if media != JSON:
            fields = {name: value for name, value in fields.items() if value is not None}
        extra = {self._values.text(8): self._values.odd() for _ in range(self._rng.choice((0, 0, 0, 1, 3)))}
        pairs = _encodable({**extra, **fields})
        headers = [*self._optional_headers(), *self._session_headers(session), ("Content-Type", media)]
        return Request("POST", "/api/", headers, encode_pairs(pairs, media, self._rng), fields["action"])

    def mutated_call(self) -> Request:
        valid = self.valid_call()
        media = dict(valid.headers)["Content-Type"]
        pairs: Pairs = list(self._values.valid(self._rng.choice(self._bodies)).items())
        headers, mutations = list(valid.headers), self._rng.choice((1, 1, 2, 3))
        body: bytes | None = None
        for _ in range(mutations):
            kind = self._rng.random()
            if kind < 0.4:
                pairs = self._mutator.mutate_fields(pairs)
            elif kind < 0.65:
                body = self._mutator.mutate_bytes(body or encode_pairs(pairs, media, self._rng))
            else:
                headers = self._mutate_headers(headers)
        return Request("POST", "/api/", headers, encode_pairs(pairs, media, self._rng) if body is None else body)

    def open_session(self) -> Request:
        headers = self._optional_headers()
        if self._rng.random() < 0.5:
            headers += self._session_headers(self._rng.choice(self._sessions))
        if self._rng.random() < 0.3:
            headers = self._mutate_headers(headers)
        return Request(self._rng.choice(("GET", "GET", "HEAD")), "/api/", headers)

    def valid_login(self, token: str, username: str, password: str) -> Request:
        fields = [
            ("csrfmiddlewaretoken", token),
            ("username", username),
            ("password", password),
            ("region", self._region),
        ]
        headers = [*self._optional_headers(), ("Cookie", f"csrftoken={token}"), ("Content-Type", FORM)]
        return Request("POST", "/auth/login/", headers, encode_pairs(fields, FORM, self._rng))

    def invalid_login(self) -> Request:
        """Generate a login with invalid credentials, and often other mutations."""
        session = self._rng.choice(self._sessions)
        fields = self._values.valid(self._login)
        fields["password"] += "?"
        if self._rng.random() < 0.3:
            fields["username"] = "demo"
        if self._rng.random() < 0.8:
            fields["csrfmiddlewaretoken"] = session.token
        if self._rng.random() < 0.3:
            fields["region"] = self._region
        pairs = list(fields.items())
        headers = [*self._optional_headers(), ("Cookie", f"csrftoken={session.token}"), ("Content-Type", FORM)]
        if self._rng.random() < 0.5:
            pairs = self._mutator.mutate_fields(pairs)
        body = encode_pairs(pairs, FORM, self._rng)
        if self._rng.random() < 0.3:
            body = self._mutator.mutate_bytes(body)
        if self._rng.random() < 0.2:
            headers = self._mutate_headers(headers)
        return Request("POST", "/auth/login/", headers, body)

    def logout(self, session: Session) -> Request:
        return Request("POST", "/auth/logout/", [*self._optional_headers(), *self._session_headers(session)])

    def other_request(self) -> Request:
        """Any method on any path, without the session cookies, so that no session ends."""
        paths = (*self._document["paths"], *OTHER_PATHS, "/" + self._path())
        method, path = self._rng.choice(METHODS), self._rng.choice(paths)
        body = self._rng.randbytes(self._rng.randrange(40)) if self._rng.random() < 0.3 else b""
        return Request(method, path, self._mutate_headers(self._optional_headers()), body)

    def _path(self) -> str:
        return "".join(self._rng.choices("abcXYZ019-._~!$&'()*+,;=:@/", k=self._rng.randrange(20)))

    def _optional_headers(self) -> list[tuple[str, str]]:
        headers = []
        if self._rng.random() < 0.5:
            headers.append(("X-Request-ID", f"fuzz-{self._rng.randrange(10**9)}"))
        if self._rng.random() < 0.5:
            headers.append(("Accept-Language", self._rng.choice(LANGUAGES)))
        return headers

    def _session_headers(self, session: Session) -> list[tuple[str, str]]:
        cookies = [f"sessionid={session.session_id}", f"csrftoken={session.token}"]
        if self._rng.random() < 0.3:
            cookies += self._rng.sample(("a=b", "=", "sessionid=stale", "a[b]=1", 'csrftoken="0"', "$Version=1"), 2)
            self._rng.shuffle(cookies)
        return [("Cookie", "; ".join(cookies)), ("X-CSRFToken", session.token)]

    def _mutate_headers(self, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Drop, replace, duplicate or add a header."""
        name = self._rng.choice(list(ODD_HEADERS))
        value = self._rng.choice(ODD_HEADERS[name])
        others = [header for header in headers if header[0] != name]
        return self._rng.choice((others, [*others, (name, value)], [*others, (name, value)], [*headers, (name, value)]))


def _encodable(fields: dict[str, Any]) -> Pairs:
    """Drop lone surrogates, which make the whole body malformed."""
    return [(name, value) for name, value in fields.items() if "\\ud8" not in ascii(value)]

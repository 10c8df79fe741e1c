"""Request inputs that are as expensive to parse as a client can make them."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from bench.raw_http import SessionCookies, build_request

BODY: Final = 65_536
HEAD: Final = 31_000
"""Size of one header or path; the limit for all headers is 32 KiB."""
QUERY: Final = 8_000
HEADER: Final = 1_000
CONTENT_TYPE: Final = 300
SIZES: Final = (BODY, HEAD, QUERY, HEADER, CONTENT_TYPE)

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MAX_VARIANTS: Final = 600
"""More than any cache of the server can hold."""


class Input(Struct, frozen=True):
    name: str
    size: int
    """One of `SIZES`: the size of the plain JSON to compare with."""
    statuses: tuple[int, ...]
    requests: tuple[bytes, ...]
    """Sent alternately, because a connection does not parse the same headers twice in a row."""
    closes: bool = False
    """Whether the server may close the connection before reading the complete request."""


def plain_json(cookies: SessionCookies, size: int) -> Input:
    """Return an action request with many short string fields: the baseline."""
    body = _object(size, '"field_{:05}":"' + "v" * 32 + '"')
    return Input("plain JSON", size, (200,), (_action_request(cookies, JSON, body),))


def inputs(cookies: SessionCookies, operator_cookie: str) -> Iterator[Input]:
    yield from _json_bodies(cookies)
    yield from _form_bodies(cookies)
    yield from _forms_of_many_fields(cookies, operator_cookie)
    yield from _framing(cookies)
    yield from _heads()
    yield from _queries()


def _json_bodies(cookies: SessionCookies) -> Iterator[Input]:
    def json(name: str, body: str, status: int = 200) -> Input:
        return Input(f"JSON: {name}", BODY, (status,), (_action_request(cookies, JSON, body),))

    def extra(name: str, value: str, status: int = 200) -> Input:
        return json(name, f'{{"action":"GetUsageLimits","extra":{value}}}', status)

    def many(name: str, item: str) -> Input:
        return extra(name, f"[{_repeat(item + ',', BODY - 100)}0]")

    yield extra("one string", f'"{_repeat("x", BODY - 100)}"')
    yield extra("string of escapes", '"' + _repeat("\\u0041", BODY - 100) + '"')
    yield json("tiny fields", _object(BODY, '"f{:05}":1'))
    yield many("integers", "1")
    yield many("decimals", "1.5")
    yield many("integers of 4,000 digits", "1" * 4000)
    yield extra("one long integer", _repeat("1", BODY - 100))
    yield extra("decimals and a long integer", f"[{_repeat('1.5,', BODY - 5000)}{'1' * 4400}]")
    yield many("empty arrays", "[]")
    yield many("arrays 500 deep", "[" * 500 + "]" * 500)
    yield extra("arrays too deep", _repeat("[", BODY - 100), 400)
    yield many("non-ASCII strings", '"é"')
    yield json("decimals as the action", f'{{"action":[{_repeat("1.5,", BODY - 100)}0]}}', 400)


def _form_bodies(cookies: SessionCookies) -> Iterator[Input]:
    def form(name: str, body: str, status: int = 200) -> Input:
        return Input(
            f"form: {name}", BODY, (status,), (_action_request(cookies, FORM, "action=GetUsageLimits&" + body),)
        )

    size = BODY - 100
    yield form("one field", "x=" + _repeat("x", size))
    yield form("escapes", "x=" + _repeat("%41", size))
    yield form("escapes of Chinese", "x=" + _repeat("%E4%BA%91", size))
    yield form("Chinese and escapes", "x=" + _repeat("云%41", size))
    yield form("60 fields of escapes", "&".join(f"f{number}=" + "%41" * 330 for number in range(60)))
    yield form(
        "60 fields and stray percent signs",
        "&".join(f"f{number}=" + "%41" * 16 + "x" * 970 for number in range(60)) + "%" * 16,
    )
    yield form(
        "60 fields of emoji and stray percent signs",
        "&".join(f"f{number}=" + "%41" * 16 + "😀a" * 194 for number in range(60)) + "%" * 16,
    )
    yield form("one stray percent sign", "x=" + "%41" * 999 + "%" + _repeat("x", size - 3000))
    yield form("one stray percent sign too many", "x=" + _repeat("%41", size - 1) + "%", 400)
    yield form("percent signs", "x=" + _repeat("%", size), 400)
    yield form("plus signs", "x=" + _repeat("+", size))


def _forms_of_many_fields(cookies: SessionCookies, operator_cookie: str) -> Iterator[Input]:
    fields = _repeat("a&", BODY)
    yield Input("form: 32,000 fields at /api/", BODY, (400,), (_action_request(cookies, FORM, fields),))
    for path, header in (
        ("/auth/login/", cookies.header),
        ("/admin/sign-in/", cookies.header),
        ("/admin/node/add/", operator_cookie),
    ):
        request = build_request("POST", path, {"Cookie": header, "Content-Type": FORM}, fields)
        yield Input(f"form: 32,000 fields at {path}", BODY, (400,), (request,))
    region = "http://" + _repeat("a.", BODY - 1000)
    login = f"csrfmiddlewaretoken={cookies.csrf_token}&username=x&password=x&region={region}"
    request = build_request("POST", "/auth/login/", {"Cookie": cookies.header, "Content-Type": FORM}, login)
    yield Input("form: long region", BODY, (400,), (request,))


def _framing(cookies: SessionCookies) -> Iterator[Input]:
    start = b'{"action":"GetUsageLimits","extra":"'

    def chunked(name: str, body: bytes, status: int = 200) -> Input:
        request = _action_head(cookies, {"Content-Type": JSON, "Transfer-Encoding": "chunked"}) + body
        return Input(name, BODY, (status,), (request,), closes=status != 200)

    def chunks(size: int, status: int) -> Input:
        filling = [b"x" * size] * (BODY // (size + len(f"{size:x}") + 4))
        return chunked(f"{size}-byte chunks", _in_chunks([start, *filling, b'"}']) + b"0\r\n\r\n", status)

    yield chunks(1, 400)
    yield chunks(64, 400)
    yield chunks(512, 200)
    yield chunked("trailers", _in_chunks([start + b'"}']) + b"0\r\n" + b"a:\r\n" * (BODY // 4) + b"\r\n", 431)
    part = '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n\r\n'
    multipart = _action_request(cookies, "multipart/form-data; boundary=b", _repeat(part, BODY))
    yield Input("multipart", BODY, (415,), (multipart,))


def _heads() -> Iterator[Input]:
    def head(name: str, headers: dict[str, str], path: str = "/api/", status: int = 200) -> Input:
        return Input(name, HEAD, (status,), tuple(_get(path, headers, number) for number in range(2)))

    yield head("cookies: session cookies", {"Cookie": _repeat("sessionid=a; ", HEAD)})
    yield head("cookies: semicolons", {"Cookie": _repeat(";", HEAD)})
    yield head("cookies: other names", {"Cookie": _repeat("a=b; ", HEAD)})
    yield head("cookies: long session cookie", {"Cookie": "sessionid=" + _repeat("a", HEAD) + "!"})
    yield head("cookies: spaces", {"Cookie": "a=b;" + _repeat(" ", HEAD) + "!"})
    yield head("Sec-Fetch-Site: commas", {"Sec-Fetch-Site": _repeat(",", HEAD)})
    yield head("X-Forwarded-For: commas", {"X-Forwarded-For": _repeat("1,", HEAD)})
    yield head("If-None-Match: commas", {"If-None-Match": _repeat(",", HEAD)}, "/")
    yield head("long Origin", {"Origin": _repeat("a", HEAD)})
    yield head("90 headers", {f"X-{number}": "v" * 330 for number in range(90)})
    lines = "GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + _repeat("a:\r\n", HEAD) + "\r\n"
    yield Input("8,000 headers", HEAD, (431,), (lines.encode(),), closes=True)
    path = _get("/" + _repeat("%41", HEAD), {}, 0)
    yield Input("path: escapes", HEAD, (400,), (path,), closes=True)
    for name, value, size in (
        ("Accept-Language", ",", HEADER),
        ("Accept-Language", ",zh;q=0.1", HEADER),
        ("Content-Type", ";", CONTENT_TYPE),
    ):
        varied = [{name: f"{number}{_repeat(value, size - 10)}"} for number in range(MAX_VARIANTS)]
        requests = (_get("/api/", headers, 0) for headers in varied)
        yield Input(f"{name}: {value}…", size, (200,), tuple(requests))


def _queries() -> Iterator[Input]:
    for name, query in (
        ("4,000 fields", _repeat("a&", QUERY)),
        ("escapes", "a=" + _repeat("%41", QUERY)),
        ("percent signs", "a=" + _repeat("%", QUERY)),
    ):
        path = f"/admin/sign-in/?{query}"
        yield Input(f"admin list filter: {name}", QUERY, (200,), tuple(_get(path, {}, number) for number in range(2)))


def _repeat(text: str, size: int) -> str:
    return text * (size // len(text.encode()))


def _object(size: int, field: str) -> str:
    """Build an action request of this size."""
    count = (size - 40) // (len(field.format(0)) + 1)
    return ",".join(['{"action":"GetUsageLimits"', *(field.format(number) for number in range(count))]) + "}"


def _in_chunks(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


def _action_request(cookies: SessionCookies, media: str, body: str) -> bytes:
    encoded = body.encode()
    return _action_head(cookies, {"Content-Type": media, "Content-Length": str(len(encoded))}) + encoded


def _action_head(cookies: SessionCookies, headers: dict[str, str]) -> bytes:
    return build_request("POST", "/api/", {"Cookie": cookies.header, "X-CSRFToken": cookies.csrf_token, **headers})


def _get(path: str, headers: dict[str, str], number: int) -> bytes:
    return build_request("GET", path, {"X-Request-ID": str(number), **headers})

"""Input forms whose cost is compared: each is as expensive to parse as a client can make it."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from bench.client import Caller, plain_request

BODY: Final = 65_536
HEAD: Final = 31_000
"""Of one header or path: a whole head may have 32 KiB."""
QUERY: Final = 8_000
HEADER: Final = 1_000
CONTENT_TYPE: Final = 300
SIZES: Final = (BODY, HEAD, QUERY, HEADER, CONTENT_TYPE)

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MOST_VARIANTS: Final = 600
"""More than any cache of the server holds."""


class Input(Struct, frozen=True):
    name: str
    size: int
    """Of `SIZES`: that of the plain JSON it is compared with."""
    statuses: tuple[int, ...]
    requests: tuple[bytes, ...]
    """Sent in turn, since a connection does not parse the same head twice in a row."""
    closes: bool = False
    """Whether the server may close the connection before it has read the request."""


def plain_json(caller: Caller, size: int) -> Input:
    """An action call among short text fields: what all others are compared with."""
    body = _object(size, '"field_{:05}":"' + "v" * 32 + '"')
    return Input("plain JSON", size, (200,), (_call(caller, JSON, body),))


def inputs(caller: Caller, operator_cookie: str) -> Iterator[Input]:
    yield from _json_bodies(caller)
    yield from _form_bodies(caller)
    yield from _forms_of_many_fields(caller, operator_cookie)
    yield from _framing(caller)
    yield from _heads()
    yield from _queries()


def _json_bodies(caller: Caller) -> Iterator[Input]:
    def json(name: str, body: str, status: int = 200) -> Input:
        return Input(f"JSON: {name}", BODY, (status,), (_call(caller, JSON, body),))

    def extra(name: str, value: str, status: int = 200) -> Input:
        return json(name, f'{{"action":"GetUsageLimits","extra":{value}}}', status)

    def many(name: str, item: str) -> Input:
        return extra(name, f"[{_filled(item + ',', BODY - 100)}0]")

    yield extra("one text", f'"{_filled("x", BODY - 100)}"')
    yield extra("a text of escapes", '"' + _filled("\\u0041", BODY - 100) + '"')
    yield json("tiny fields", _object(BODY, '"f{:05}":1'))
    yield many("integers", "1")
    yield many("decimals", "1.5")
    yield many("integers of 4,000 digits", "1" * 4000)
    yield extra("one long integer", _filled("1", BODY - 100))
    yield extra("decimals and a long integer", f"[{_filled('1.5,', BODY - 5000)}{'1' * 4400}]")
    yield many("empty arrays", "[]")
    yield many("arrays 500 deep", "[" * 500 + "]" * 500)
    yield extra("arrays too deep", _filled("[", BODY - 100), 400)
    yield many("texts outside ASCII", '"é"')
    yield json("decimals as the action", f'{{"action":[{_filled("1.5,", BODY - 100)}0]}}', 400)


def _form_bodies(caller: Caller) -> Iterator[Input]:
    def form(name: str, body: str, status: int = 200) -> Input:
        return Input(f"form: {name}", BODY, (status,), (_call(caller, FORM, "action=GetUsageLimits&" + body),))

    size = BODY - 100
    yield form("one field", "x=" + _filled("x", size))
    yield form("escapes", "x=" + _filled("%41", size))
    yield form("escapes of Chinese", "x=" + _filled("%E4%BA%91", size))
    yield form("Chinese and escapes", "x=" + _filled("云%41", size))
    yield form("60 fields of escapes", "&".join(f"f{number}=" + "%41" * 330 for number in range(60)))
    yield form(
        "60 fields and stray percent signs",
        "&".join(f"f{number}=" + "%41" * 16 + "x" * 970 for number in range(60)) + "%" * 16,
    )
    yield form(
        "60 fields of emoji and stray percent signs",
        "&".join(f"f{number}=" + "%41" * 16 + "😀a" * 194 for number in range(60)) + "%" * 16,
    )
    yield form("one stray percent sign", "x=" + "%41" * 999 + "%" + _filled("x", size - 3000))
    yield form("one stray percent sign too many", "x=" + _filled("%41", size - 1) + "%", 400)
    yield form("percent signs", "x=" + _filled("%", size), 400)
    yield form("plus signs", "x=" + _filled("+", size))


def _forms_of_many_fields(caller: Caller, operator_cookie: str) -> Iterator[Input]:
    fields = _filled("a&", BODY)
    yield Input("form: 32,000 fields at /api/", BODY, (400,), (_call(caller, FORM, fields),))
    for path, cookies in (
        ("/auth/login/", caller.cookies),
        ("/admin/sign-in/", caller.cookies),
        ("/admin/node/add/", operator_cookie),
    ):
        request = plain_request("POST", path, {"Cookie": cookies, "Content-Type": FORM}, fields)
        yield Input(f"form: 32,000 fields at {path}", BODY, (400,), (request,))
    region = "http://" + _filled("a.", BODY - 1000)
    login = f"csrfmiddlewaretoken={caller.token}&username=x&password=x&region={region}"
    request = plain_request("POST", "/auth/login/", {"Cookie": caller.cookies, "Content-Type": FORM}, login)
    yield Input("form: a long region", BODY, (400,), (request,))


def _framing(caller: Caller) -> Iterator[Input]:
    call = b'{"action":"GetUsageLimits","extra":"'

    def chunked(name: str, body: bytes, status: int = 200) -> Input:
        request = _call_head(caller, {"Content-Type": JSON, "Transfer-Encoding": "chunked"}) + body
        return Input(name, BODY, (status,), (request,), closes=status != 200)

    def chunks(size: int, status: int) -> Input:
        filling = [b"x" * size] * (BODY // (size + len(f"{size:x}") + 4))
        return chunked(f"chunks of {size} bytes", _in_chunks([call, *filling, b'"}']) + b"0\r\n\r\n", status)

    yield chunks(1, 400)
    yield chunks(64, 400)
    yield chunks(512, 200)
    yield chunked("trailers", _in_chunks([call + b'"}']) + b"0\r\n" + b"a:\r\n" * (BODY // 4) + b"\r\n", 431)
    part = '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n\r\n'
    multipart = _call(caller, "multipart/form-data; boundary=b", _filled(part, BODY))
    yield Input("multipart", BODY, (415,), (multipart,))


def _heads() -> Iterator[Input]:
    def head(name: str, headers: dict[str, str], path: str = "/api/", status: int = 200) -> Input:
        return Input(name, HEAD, (status,), tuple(_get(path, headers, number) for number in range(2)))

    yield head("cookies: session cookies", {"Cookie": _filled("sessionid=a; ", HEAD)})
    yield head("cookies: semicolons", {"Cookie": _filled(";", HEAD)})
    yield head("cookies: others", {"Cookie": _filled("a=b; ", HEAD)})
    yield head("cookies: a long session cookie", {"Cookie": "sessionid=" + _filled("a", HEAD) + "!"})
    yield head("cookies: spaces", {"Cookie": "a=b;" + _filled(" ", HEAD) + "!"})
    yield head("Sec-Fetch-Site: commas", {"Sec-Fetch-Site": _filled(",", HEAD)})
    yield head("X-Forwarded-For: commas", {"X-Forwarded-For": _filled("1,", HEAD)})
    yield head("If-None-Match: commas", {"If-None-Match": _filled(",", HEAD)}, "/")
    yield head("a long Origin", {"Origin": _filled("a", HEAD)})
    yield head("90 headers", {f"X-{number}": "v" * 330 for number in range(90)})
    lines = "GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + _filled("a:\r\n", HEAD) + "\r\n"
    yield Input("8,000 headers", HEAD, (431,), (lines.encode(),), closes=True)
    path = _get("/" + _filled("%41", HEAD), {}, 0)
    yield Input("path: escapes", HEAD, (400,), (path,), closes=True)
    for name, value, size in (
        ("Accept-Language", ",", HEADER),
        ("Accept-Language", ",zh;q=0.1", HEADER),
        ("Content-Type", ";", CONTENT_TYPE),
    ):
        varied = [{name: f"{number}{_filled(value, size - 10)}"} for number in range(MOST_VARIANTS)]
        requests = (_get("/api/", headers, 0) for headers in varied)
        yield Input(f"{name}: {value}…", size, (200,), tuple(requests))


def _queries() -> Iterator[Input]:
    for name, query in (
        ("4,000 fields", _filled("a&", QUERY)),
        ("escapes", "a=" + _filled("%41", QUERY)),
        ("percent signs", "a=" + _filled("%", QUERY)),
    ):
        path = f"/admin/sign-in/?{query}"
        yield Input(f"operators' filter: {name}", QUERY, (200,), tuple(_get(path, {}, number) for number in range(2)))


def _filled(text: str, size: int) -> str:
    return text * (size // len(text.encode()))


def _object(size: int, field: str) -> str:
    """A JSON object of this size that calls an action."""
    count = (size - 40) // (len(field.format(0)) + 1)
    return ",".join(['{"action":"GetUsageLimits"', *(field.format(number) for number in range(count))]) + "}"


def _in_chunks(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


def _call(caller: Caller, media: str, body: str) -> bytes:
    encoded = body.encode()
    return _call_head(caller, {"Content-Type": media, "Content-Length": str(len(encoded))}) + encoded


def _call_head(caller: Caller, headers: dict[str, str]) -> bytes:
    return plain_request("POST", "/api/", {"Cookie": caller.cookies, "X-CSRFToken": caller.token, **headers})


def _get(path: str, headers: dict[str, str], number: int) -> bytes:
    return plain_request("GET", path, {"X-Request-ID": str(number), **headers})

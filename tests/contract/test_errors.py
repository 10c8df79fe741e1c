"""Every error: its status, code, field and message, and which of several errors takes precedence."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from sqlalchemy import text

from cloudconsole.core.ports import Credentials
from cloudconsole.spec.errors import Unavailable, UpstreamFailed, UpstreamTimeout
from tests.contract.conftest import StartConsole
from tests.contract.test_actions import ACTIONS, as_json_and_form
from tests.harness import FORM, JSON, ApiClient, HttpTransport, InProcessTransport, Reply
from tests.stores import write_transaction

LIMIT = 65_536
UNKNOWN_USER = "nobody-of-the-contract"
VALID = b'{"action":"GetFlavors"}'
VALID_FORM = b"action=GetFlavors"

json_and_form = pytest.mark.parametrize(
    ("content_type", "body"), [(JSON, VALID), (FORM, VALID_FORM)], ids=["json", "form"]
)


def post(client: ApiClient, body: bytes, content_type: str | None = JSON, path: str = "/api/", **changes: str) -> Reply:
    """Send exactly this body, with the client's CSRF token."""
    headers = {"X-CSRFToken": client.token} | {name.replace("_", "-"): value for name, value in changes.items()}
    if content_type is not None:
        headers["Content-Type"] = content_type
    return client.send("POST", path, headers, body)


def login(client: ApiClient, body: bytes, content_type: str | None = FORM) -> Reply:
    return post(client, body, content_type, "/auth/login/")


def login_form(client: ApiClient, **changes: str) -> bytes:
    if not client.cookies:
        client.open()
    fields = {
        "csrfmiddlewaretoken": client.token,
        "username": UNKNOWN_USER,
        "password": "wrong",
        "region": f"{client.transport.base}/v3",
    }
    return urlencode(fields | changes).encode()


def assert_rejected(reply: Reply, status: int, error: str, field: str | None = None) -> None:
    assert (reply.status, reply.error, reply.envelope.get("field")) == (status, error, field), reply.body
    assert ("field" in reply.envelope) == (field is not None)
    assert reply.header("Content-Type") == "application/json"


# Malformed bodies

NOT_AN_OBJECT = ["[]", '[{"action":"GetFlavors"}]', '"GetFlavors"', "1", "1.5", "true", "null"]
NOT_JSON = ["", " ", "{", "action=GetFlavors", "{'action':'GetFlavors'}", '{"action":"GetFlavors"}x']
INVALID_REST = ["", ",}", ',"x":01}', ',"x":"\t"}', f',"x":{"9" * 5000}x}}', f',"x":{"9" * 5000},"y":NaN}}'] + [
    f',"{name}":{number}}}' for name in ("domainId", "x") for number in ("NaN", "Infinity", "-Infinity", "nan", "-NaN")
]
LONE_SURROGATES = [rb"\ud800", rb"\udfff", rb"a\ud83dz", rb"\ude00\ud83d", rb"\uD800"]
INVALID_UTF_8 = [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"]
ESCAPED_INVALID_UTF_8 = [b"%FF", b"%C3", b"%C0%AF", b"%ED%A0%80"]
PLACES_IN_JSON = [
    *(b'{"action":"GetDomainDetail","domainId":"%b"}', b'{"action":"GetFlavors","skipped":["%b"]}'),
    *(b'{"action":"GetFlavors","%b":1}', b'{"action":"%b"}'),
]
PLACES_IN_FORMS = [
    *(b"action=GetDomainDetail&domainId=%b", b"action=GetFlavors&skipped=%b", b"action=GetFlavors&%b=1", b"action=%b")
]
MALFORMED = [
    *((JSON, body.encode()) for body in NOT_AN_OBJECT + NOT_JSON),
    *((JSON, f'{{"action":"GetFlavors"{rest}'.encode()) for rest in INVALID_REST),
    *((JSON, place % raw) for place in PLACES_IN_JSON for raw in LONE_SURROGATES + INVALID_UTF_8),
    *((JSON, '{"action":"获取"}'.encode(encoding)) for encoding in ("utf-16", "utf-16-le", "utf-32", "gb18030")),
    *((FORM, place % raw) for place in PLACES_IN_FORMS for raw in INVALID_UTF_8 + ESCAPED_INVALID_UTF_8),
    (FORM, b"action=GetFlavors" + b"&field=" * 64),
]


@pytest.mark.parametrize(("content_type", "body"), MALFORMED, ids=lambda value: ascii(value)[:40])
def test_malformed_body_is_rejected(demo: ApiClient, content_type: str, body: bytes) -> None:
    assert_rejected(post(demo, body, content_type), 400, "malformed_body")


def test_login_with_too_many_fields_is_rejected(client: ApiClient) -> None:
    assert_rejected(login(client, login_form(client) + b"&field=" * 64), 400, "malformed_body")


@pytest.mark.parametrize(("opening", "closing", "depth"), [("[", "]", 32_000), ('{"a":', "}", 10_700)])
def test_excessive_nesting_is_rejected(demo: ApiClient, opening: str, closing: str, depth: int) -> None:
    deep = opening * depth + "1" + closing * depth
    # The depth limit depends on the interpreter; on every one the parser fails, not the service.
    with pytest.raises(RecursionError):
        msgspec.json.decode(deep)
    assert_rejected(post(demo, f'{{"action":"GetFlavors","skipped":{deep}}}'.encode()), 400, "malformed_body")


# Unusual but valid bodies


UNUSUAL_JSON = [
    *(b"\xef\xbb\xbf" + VALID, b" \r\n\t" + VALID + b" \r\n\t"),
    *(b'{"action":"Nonsense","action":"GetFlavors"}', b'{"action":1,"action":"GetFlavors"}'),
    rb'{"\u0061ction":"Get\u0046lavors"}',
    rb'{"action":"GetFlavors","skipped":"\ud83d\ude00 \u0000"}',
    '{"action":"GetFlavors","省略":"中文 😀"}'.encode(),
    b'{"action":"GetFlavors","":0,"null":null,"list":[1,{"a":1.5e3}]}',
    *(b'{"action":"GetFlavors","skipped":1e400}', b'{"action":"GetFlavors","domainId":true}'),
    b'{"action":"GetFlavors","skipped":' + b"9" * 5000 + b"}",
    b'{"action":"GetFlavors","skipped":["' + b"9" * 5000 + b'",-' + b"9" * 5000 + b"]}",
    b'{"action":"GetFlavors"' + b',"a":1' * 5000 + b"}",
    b'{"action":"GetFlavors","skipped":' + b"[" * 100 + b"]" * 100 + b"}",
]
UNUSUAL_FORMS = [
    *(b"action=Nonsense&action=GetFlavors", b"&&action=GetFlavors&", b"action=GetFlavors&a=b=c&d&=e&f="),
    *(b"%61ction=Get%46lavors", b"action=GetFlavors&skipped=%E4%B8%AD+%00", "action=GetFlavors&省略=中文".encode()),
    *(b"action=GetFlavors&a=%zz&b=%", b"action=GetFlavors&domainId="),
]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [*((JSON, body) for body in UNUSUAL_JSON), *((FORM, body) for body in UNUSUAL_FORMS)],
    ids=lambda value: ascii(value)[:60],
)
def test_unusual_but_valid_body_is_accepted(demo: ApiClient, content_type: str, body: bytes) -> None:
    assert post(demo, body, content_type).status == 200


def test_semicolon_does_not_separate_form_fields(demo: ApiClient) -> None:
    assert_rejected(post(demo, b"action=GetFlavors;x=1", FORM), 404, "unknown_action", "action")


# Fields

MISSING_FIELDS = [
    *((JSON, body, "action") for body in (b"{}", b'{"action":null}', b'{"action":""}', b'{"Action":"GetFlavors"}')),
    *((FORM, body, "action") for body in (b"", b"action", b"action=", b"ACTION=GetFlavors", b"domainId=206813", b"&")),
    *(
        (JSON, b'{"action":"GetDomainDetail"%b}' % rest, "domainId")
        for rest in (b"", b',"domainId":null', b',"domainId":""', b',"domainid":"206813"')
    ),
    *(
        (FORM, b"action=GetDomainDetail" + rest, "domainId")
        for rest in (b"", b"&domainId", b"&domainId=", b"&domainID=206813")
    ),
    # The last value of a repeated field wins.
    (JSON, b'{"action":"GetFlavors","action":null}', "action"),
    (FORM, b"action=GetFlavors&action=", "action"),
]


@pytest.mark.parametrize(("content_type", "body", "field"), MISSING_FIELDS)
def test_missing_field_is_rejected(demo: ApiClient, content_type: str, body: bytes, field: str) -> None:
    assert_rejected(post(demo, body, content_type), 400, "missing_field", field)


@pytest.mark.parametrize(
    "name", ["GetEverything", "getflavors", " GetFlavors", "GetFlavors\x00", "获取云主机配置", "G" * 10_000]
)
@as_json_and_form
def test_unknown_action_is_rejected(demo: ApiClient, as_form: bool, name: str) -> None:
    assert_rejected(demo.call(name, as_form=as_form), 404, "unknown_action", "action")


NO_ACTIONS = ["1", "0", "1.5", "true", "false", "[]", '["GetFlavors"]', "{}", '{"a":1}']
NO_DOMAIN_IDS = [
    *("true", "206813.0", "-0.0", "2e5", "1e400", "[]", "{}"),
    *("1" + "0" * 64, "-" + "9" * 64, "9" * 5000, "-" + "9" * 5000),
]


@pytest.mark.parametrize(
    ("field", "body"),
    [
        *(("action", f'{{"action":{value}}}') for value in NO_ACTIONS),
        *(("domainId", f'{{"action":"GetDomainDetail","domainId":{value}}}') for value in NO_DOMAIN_IDS),
    ],
    ids=lambda value: value[:60],
)
def test_json_value_of_a_wrong_type_is_rejected(demo: ApiClient, field: str, body: str) -> None:
    assert_rejected(post(demo, body.encode()), 400, "invalid_field", field)


@pytest.mark.parametrize(
    "value", ["9" * 65, "中" * 65, *(f"206813{sign}" for sign in "\n\x00"), *"\x00\x1f\x7f\x85\x9f"], ids=ascii
)
@as_json_and_form
def test_overlong_domain_id_or_one_with_control_characters_is_invalid(
    demo: ApiClient, as_form: bool, value: str
) -> None:
    assert_rejected(demo.call("GetDomainDetail", as_form=as_form, domainId=value), 400, "invalid_field", "domainId")


@pytest.mark.parametrize(
    ("as_form", "value"),
    [
        *((False, value) for value in (0, -206813, int("9" * 64), -int("9" * 63))),
        *((True, value) for value in ("0", "-1", "a b", "a+b", "true", "null", "206813.0")),
        *((as_form, value * 64) for as_form in (False, True) for value in "9中😀"),
        *((as_form, f"{sign}206813") for as_form in (False, True) for sign in " 0+"),
        *((False, value) for value in ("２０６８１３", "\u00a0", "206813' OR '1'='1")),
    ],
    ids=lambda value: ascii(value)[:16],
)
def test_unknown_domain_id_is_not_found(demo: ApiClient, as_form: bool, value: str | int) -> None:
    assert_rejected(demo.call("GetDomainDetail", as_form=as_form, domainId=value), 404, "domain_not_found", "domainId")


# Media types


@pytest.mark.parametrize(
    "spelling",
    [
        *("{}", "{};charset=utf-8", '{} ; Charset="utf-8"', "{}; charset=utf8", "{};"),
        *("{}; odata=verbose; charset=utf-8", "{upper}", "{title}"),
    ],
)
@json_and_form
def test_media_types_may_have_parameters_and_any_case(
    demo: ApiClient, content_type: str, body: bytes, spelling: str
) -> None:
    written = spelling.format(content_type, upper=content_type.upper(), title=content_type.title())
    assert post(demo, body, written).status == 200


UNSUPPORTED_TYPES = [
    *(None, "", "text/plain", "application/xml", "application/vnd.api+json", "multipart/form-data; boundary=x", "*/*"),
    *("application/json, application/json", "application/json; charset=utf-16", "application/json; charset=gb2312"),
    "application/x-www-form-urlencoded; charset=gbk",
]


@pytest.mark.parametrize("content_type", UNSUPPORTED_TYPES)
def test_other_media_types_are_rejected(demo: ApiClient, content_type: str | None) -> None:
    assert_rejected(post(demo, VALID, content_type), 415, "unsupported_media_type")


@pytest.mark.parametrize("content_type", [None, JSON, "text/plain", FORM + "; charset=gbk"])
def test_login_accepts_only_a_form(client: ApiClient, content_type: str | None) -> None:
    reply = login(client, login_form(client), content_type)
    assert_rejected(reply, 415, "unsupported_media_type")
    assert FORM in reply.envelope["message"]


# Body size


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)], ids=["at the limit", "one over"])
@json_and_form
def test_action_body_over_the_limit_is_rejected(
    demo: ApiClient, content_type: str, body: bytes, more: int, status: int
) -> None:
    begin, padding = (body, b" ") if content_type == JSON else (body + b"&skipped=", b"x")
    reply = post(demo, begin.ljust(LIMIT + more, padding), content_type)
    assert reply.status == status
    if status == 413:
        assert_rejected(reply, 413, "body_too_large")
        assert str(LIMIT) in reply.envelope["message"]


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)], ids=["at the limit", "one over"])
def test_chunked_body_over_the_limit_is_rejected(remote: HttpTransport, more: int, status: int) -> None:
    client = ApiClient(remote)
    client.login()
    body = VALID.ljust(LIMIT + more)
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:1000], body[1000:], b""))
    assert post(client, chunks, Transfer_Encoding="chunked").status == status


def test_body_size_limit_is_configurable(start_console: StartConsole) -> None:
    client = start_console(max_body=2000)
    statuses = [login(client, (login_form(client) + b"&x=").ljust(size, b"x")).status for size in (2000, 2001)]
    assert statuses == [401, 413]


# Sessions, CSRF and hosts


@json_and_form
def test_action_without_a_session_is_rejected(client: ApiClient, content_type: str, body: bytes) -> None:
    assert_rejected(post(client, body, content_type), 401, "login_required")
    client.open()
    assert_rejected(post(client, body, content_type), 401, "login_required")


def test_csrf_token_in_the_body_does_not_replace_the_header(demo: ApiClient) -> None:
    body = urlencode({"action": "GetFlavors", "csrfmiddlewaretoken": demo.token}).encode()
    assert_rejected(demo.send("POST", "/api/", {"Content-Type": FORM}, body), 403, "csrf_failed")


UNUSUAL_HOSTS = ("a b", "", "localhost:99999", '"><script>alert(1)</script>.localhost')


@pytest.mark.parametrize(
    "host",
    [
        *("console.example.com", "127.0.0.1.example.com", "[1:2"),
        *(pytest.param(host, marks=pytest.mark.not_behind_nginx) for host in UNUSUAL_HOSTS),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/api/"), ("POST", "/api/"), ("GET", "/nowhere")])
def test_unknown_host_is_rejected(client: ApiClient, method: str, path: str, host: str) -> None:
    reply = client.send(method, path, {"Host": host})
    assert_rejected(reply, 400, "invalid_host")
    assert reply.set_cookies == {}


# Login


@pytest.mark.parametrize("name", ["username", "password", "region"])
def test_login_requires_every_field(client: ApiClient, name: str) -> None:
    for absent in (None, ""):
        changes: dict[str, Any] = {name: absent}
        assert_rejected(client.login(**changes), 400, "missing_field", name)


@pytest.mark.parametrize("value", ["x" * 65, "a\0b"])
@pytest.mark.parametrize("name", ["user_domain", "project"])
def test_optional_fields_of_a_login_must_be_short_text(client: ApiClient, name: str, value: str) -> None:
    changes: dict[str, Any] = {name: value}
    assert_rejected(client.login(**changes), 400, "invalid_field", name)


@pytest.mark.parametrize("value", ["", "a"])
def test_accounts_of_the_store_ignore_the_optional_fields(client: ApiClient, value: str) -> None:
    assert client.login(user_domain=value, project=value).status == 200


@pytest.mark.parametrize(
    ("username", "password"),
    [(UNKNOWN_USER, "wrong"), ("demo", "wrong"), *((name, "console-demo") for name in ("Demo", "demo ", "demo\x00"))],
)
def test_wrong_credentials_are_rejected(client: ApiClient, username: str, password: str) -> None:
    reply = client.login(username, password)
    assert_rejected(reply, 401, "invalid_credentials")
    assert reply.set_cookies == {}
    assert client.login().status == 200


def test_too_many_failed_logins_are_throttled(start_console: StartConsole) -> None:
    client = start_console()
    assert [client.login("demo", "wrong").status for _ in range(10)] == [401] * 10
    reply = client.login("demo", "wrong")
    assert_rejected(reply, 429, "too_many_requests")
    assert reply.header("Retry-After") == "60"
    assert_common_headers(reply)


# Order of checks


@pytest.mark.not_behind_nginx
def test_order_of_checks_for_an_action(demo: ApiClient) -> None:
    headers = {"Host": "elsewhere.example", "Content-Type": "text/plain", "Cookie": "x=1", "X-CSRFToken": "wrong"}
    right_host = {"Host": demo.transport.base.partition("//")[2]}
    right_cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in demo.cookies.items())}
    too_large = b"\xff" * (LIMIT + 1)
    # Everything is wrong at first; each step corrects what was reported.
    steps: list[tuple[dict[str, str], bytes, tuple[int, str, str | None]]] = [
        ({}, too_large, (400, "invalid_host", None)),
        (right_host, too_large, (413, "body_too_large", None)),
        ({}, b"\xff", (415, "unsupported_media_type", None)),
        ({"Content-Type": JSON}, b"\xff", (401, "login_required", None)),
        (right_cookies, b"\xff", (403, "csrf_failed", None)),
        ({"X-CSRFToken": demo.token}, b"\xff", (400, "malformed_body", None)),
        ({}, b'{"domainId":false}', (400, "missing_field", "action")),
        ({}, b'{"domainId":false,"action":"Nonsense"}', (404, "unknown_action", "action")),
        ({}, b'{"domainId":false,"action":"GetDomainDetail"}', (400, "invalid_field", "domainId")),
        ({}, b'{"domainId":"0","action":"GetDomainDetail"}', (404, "domain_not_found", "domainId")),
    ]
    for correction, body, expected in steps:
        headers |= correction
        assert_rejected(demo.send("POST", "/api/", headers, body), *expected)


@pytest.mark.not_behind_nginx
def test_order_of_checks_for_a_login(client: ApiClient) -> None:
    client.open()
    headers = {"Host": "elsewhere.example", "Content-Type": JSON}
    fields = {"csrfmiddlewaretoken": "wrong", "region": "nonsense", "user_domain": "a\0", "padding": "x" * LIMIT}
    right_host = {"Host": client.transport.base.partition("//")[2]}
    steps: list[tuple[dict[str, str], dict[str, str], tuple[int, str, str | None]]] = [
        ({}, {}, (400, "invalid_host", None)),
        (right_host, {}, (413, "body_too_large", None)),
        ({}, {"padding": ""}, (415, "unsupported_media_type", None)),
        ({"Content-Type": FORM}, {}, (403, "csrf_failed", None)),
        ({}, {"csrfmiddlewaretoken": client.token}, (400, "missing_field", "username")),
        ({}, {"username": UNKNOWN_USER}, (400, "missing_field", "password")),
        ({}, {"password": "wrong"}, (400, "invalid_field", "user_domain")),
        ({}, {"user_domain": ""}, (400, "unknown_region", "region")),
        ({}, {"region": f"{client.transport.base}/v3"}, (401, "invalid_credentials", None)),
    ]
    for header_correction, field_correction, expected in steps:
        headers |= header_correction
        fields |= field_correction
        assert_rejected(client.send("POST", "/auth/login/", headers, urlencode(fields).encode()), *expected)


def test_order_of_checks_for_a_logout(demo: ApiClient) -> None:
    steps = [
        ({"Host": "elsewhere.example", "Cookie": "x=1", "X-CSRFToken": "wrong"}, 400, "invalid_host"),
        ({"Cookie": "x=1", "X-CSRFToken": "wrong"}, 401, "login_required"),
        ({"X-CSRFToken": "wrong"}, 403, "csrf_failed"),
    ]
    for headers, status, error in steps:
        assert_rejected(demo.send("POST", "/auth/logout/", headers), status, error)


# Languages

LANGUAGES = [(None, "en"), ("zh", "zh"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("en-GB,en;q=0.9,zh;q=0.8", "en")]


def _is_chinese(message: str) -> bool:
    return re.search("[一-鿿]", message) is not None


@pytest.mark.parametrize(("header", "language"), LANGUAGES)
def test_messages_follow_accept_language(demo: ApiClient, header: str | None, language: str) -> None:
    headers = {} if header is None else {"Accept_Language": header}
    for reply in (post(demo, b"{}", **headers), post(demo, VALID, **headers)):
        assert _is_chinese(reply.envelope["message"]) == (language == "zh")


@pytest.mark.parametrize("action", ACTIONS)
def test_data_does_not_depend_on_the_language(demo: ApiClient, action: str) -> None:
    body = json.dumps({"action": action, "domainId": "206814"}).encode()
    replies = [post(demo, body, Accept_Language=language) for language in ("en", "zh")]
    assert replies[0].data == replies[1].data
    assert replies[0].envelope["message"] != replies[1].envelope["message"]


def test_only_the_service_info_message_depends_on_the_language(client: ApiClient) -> None:
    replies = [client.send("GET", "/api/", {"Accept-Language": language}) for language in ("en", "zh")]
    assert replies[0].data == replies[1].data
    assert [_is_chinese(reply.envelope["message"]) for reply in replies] == [False, True]


# Headers of every response


def assert_common_headers(reply: Reply, caching: str = "no-store") -> None:
    assert reply.header("Cache-Control") == caching
    assert reply.header("X-Content-Type-Options") == "nosniff"
    assert reply.header("X-Frame-Options") == "DENY"
    assert reply.header("Referrer-Policy") == "same-origin"
    assert "default-src 'none'" in (reply.header("Content-Security-Policy") or "")
    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", reply.header("X-Request-ID") or "")
    assert [name for name, _ in reply.headers if name.lower().startswith("access-control-")] == []


LONGEST_REQUEST_ID = "Mine-1_2.3".ljust(64, "x")
REQUESTS = {
    "page": (200, "GET", "/", {}, b""),
    "page HEAD": (200, "HEAD", "/", {}, b""),
    "service info": (200, "GET", "/api/", {}, b""),
    "service info HEAD": (200, "HEAD", "/api/", {}, b""),
    "OPTIONS": (204, "OPTIONS", "/api/", {}, b""),
    "missing slash": (308, "GET", "/api", {}, b""),
    "invalid UTF-8": (400, "POST", "/api/", {"Content-Type": JSON}, b"\xff"),
    "unknown host": (400, "GET", "/", {"Host": "elsewhere.example"}, b""),
    "no session": (401, "POST", "/api/", {"Content-Type": JSON, "Cookie": "x=1"}, VALID),
    "wrong token": (403, "POST", "/api/", {"Content-Type": JSON, "X-CSRFToken": "x"}, VALID),
    "unknown path": (404, "GET", "/nowhere", {}, b""),
    "unknown path HEAD": (404, "HEAD", "/nowhere", {}, b""),
    "unknown action": (404, "POST", "/api/", {"Content-Type": JSON}, b'{"action":"Nonsense"}'),
    "wrong method": (405, "DELETE", "/api/", {}, b""),
    "body too large": (413, "POST", "/api/", {"Content-Type": JSON}, b"x" * (LIMIT + 1)),
    "wrong media type": (415, "POST", "/api/", {"Content-Type": "text/plain"}, VALID),
    "action": (200, "POST", "/api/", {"Content-Type": JSON}, VALID),
    "login": (415, "POST", "/auth/login/", {"Content-Type": JSON}, b"{}"),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_response_has_the_common_headers(demo: ApiClient, kind: str) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-csrftoken"}
    status, method, path, headers, body = REQUESTS[kind]
    more = {"X-CSRFToken": demo.token, "X-Request-ID": LONGEST_REQUEST_ID, **preflight}
    reply = demo.send(method, path, more | headers, body)
    assert reply.status == status
    # The page is the same for everyone and contains nothing personal.
    assert_common_headers(reply, "no-cache" if "page" in kind else "no-store")
    assert reply.header("X-Request-ID") == LONGEST_REQUEST_ID
    assert set(reply.set_cookies) == ({"sessionid", "csrftoken"} if "service info" in kind else set())
    assert reply.body == b"" or "HEAD" not in kind


def test_login_and_logout_have_the_common_headers_and_no_body(client: ApiClient) -> None:
    for reply in (client.login(UNKNOWN_USER, "wrong"), client.login(), client.logout()):
        assert_common_headers(reply)
        assert reply.status == 401 or (reply.status, reply.body, reply.header("Content-Type")) == (200, b"", None)


@pytest.mark.parametrize("given", ["x" * 65, "", "a b", "a;b", "é", "<x>", "a,b"])
def test_invalid_request_id_is_replaced(client: ApiClient, given: str) -> None:
    replies = [client.send("GET", "/api/", {"X-Request-ID": given}) for _ in range(2)]
    generated = [reply.header("X-Request-ID") or "" for reply in replies]
    assert given not in generated
    assert generated[0] != generated[1]
    assert all(re.fullmatch("[A-Za-z0-9._-]{1,64}", each) for each in generated)


# Backend errors, from fakes


class FailingBackend:
    """A fake of every backend, all of whose methods fail."""

    problem: Exception = UpstreamFailed()

    def __init__(self, *_: object) -> None:
        pass

    def counted_as(self, credentials: Credentials) -> str:
        return credentials.username

    async def knows_username(self, _username: str) -> bool:
        return False

    async def fail(self, *_: object) -> None:
        raise self.problem

    urls = domain = news = usage_limits = flavors = consumption = authenticate = fail


BACKEND_ERRORS = pytest.mark.parametrize(
    ("problem", "status", "error"),
    [
        (UpstreamFailed(), 502, "upstream_failed"),
        (UpstreamTimeout(), 504, "upstream_timeout"),
        (Unavailable(), 503, "unavailable"),
        (RuntimeError("very secret text"), 500, "internal_error"),
    ],
    ids=["502", "504", "503", "500"],
)


@pytest.fixture
def failing(start_console: StartConsole, monkeypatch: pytest.MonkeyPatch) -> ApiClient:
    """A client logged in to a console whose cloud and content backends fail."""
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedCloud", FailingBackend)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedContent", FailingBackend)
    client = start_console()
    assert client.login().status == 200
    return client


def assert_backend_error(reply: Reply, status: int, error: str) -> None:
    assert_rejected(reply, status, error)
    assert_common_headers(reply)
    assert b"secret" not in reply.body
    assert b"Traceback" not in reply.body
    assert (reply.header("Retry-After") is not None) == (status == 503)
    if status == 500:
        assert reply.header("X-Request-ID") in reply.envelope["message"]


@BACKEND_ERRORS
def test_backend_error_of_an_action_is_reported(
    failing: ApiClient, monkeypatch: pytest.MonkeyPatch, problem: Exception, status: int, error: str
) -> None:
    monkeypatch.setattr(FailingBackend, "problem", problem)
    for action, fields in ACTIONS.items():
        assert_backend_error(failing.call(action, **fields), status, error)
        assert_backend_error(failing.call(action, as_form=True, **fields), status, error)


def test_backend_error_message_follows_accept_language(failing: ApiClient) -> None:
    assert _is_chinese(post(failing, VALID, Accept_Language="zh").envelope["message"])


@BACKEND_ERRORS
def test_backend_error_of_a_login_is_no_failed_attempt(
    start_console: StartConsole, monkeypatch: pytest.MonkeyPatch, problem: Exception, status: int, error: str
) -> None:
    monkeypatch.setattr(FailingBackend, "problem", problem)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedIdentity", FailingBackend)
    client = start_console()
    # As an attempt, the eleventh would be throttled.
    for _ in range(11):
        reply = client.login()
        assert_backend_error(reply, status, error)
        assert reply.set_cookies == {}


def test_too_many_concurrent_logins_are_rejected(start_console: StartConsole, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudconsole.server.app.QUEUE_LIMIT", 0)
    assert_backend_error(start_console().login(), 503, "unavailable")


@pytest.mark.parametrize(
    ("table", "action"),
    [
        ("news", "GetNews"),
        ("prices", "GetConsumptionsEstimated"),
        ("usage", "GetUsageLimits"),
        ("urls", "GetUrlList"),
        ("accounts", "GetFlavors"),
    ],
)
def test_unreadable_store_is_unavailable_until_repaired(
    data: Path, start_console: StartConsole, table: str, action: str
) -> None:
    client = start_console()
    client.login()
    replies = []
    for statement in (f"ALTER TABLE {table} RENAME TO away", f"ALTER TABLE away RENAME TO {table}"):
        with write_transaction(data, "cloud") as connection:
            connection.execute(text(statement))
        replies.append(client.call(action))
    assert_backend_error(replies[0], 503, "unavailable")
    assert replies[1].status == 200


def test_stopping_console_rejects_new_requests(start_console: StartConsole) -> None:
    client = start_console()
    assert isinstance(client.transport, InProcessTransport)
    client.transport.console.draining = True
    for method, path in (("GET", "/api/"), ("GET", "/"), ("POST", "/api/")):
        reply = client.send(method, path)
        assert_backend_error(reply, 503, "unavailable")
        assert (reply.header("Connection") or "").lower() == "close"

"""Every refusal: its status, identifier, field and words, and which of several faults is told."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest
from sqlalchemy import text

from cloudconsole.core.ports import Account
from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.errors import Unavailable, UpstreamFailed, UpstreamTimeout
from tests.harness import FORM, JSON, Caller, HeldClock, InProcess, OverHttp, Reply
from tests.stores import open_engine, settings_over

LIMIT = 65_536
NOBODY = "nobody-of-the-contract"
GOOD = b'{"action":"GetFlavors"}'
GOOD_FORM = b"action=GetFlavors"

both_forms = pytest.mark.parametrize(("content_type", "body"), [(JSON, GOOD), (FORM, GOOD_FORM)], ids=["json", "form"])


def post(caller: Caller, body: bytes, content_type: str | None = JSON, **changes: str) -> Reply:
    """A call with this very body, by someone with a token."""
    headers = {"X-CSRFToken": caller.token} | {name.replace("_", "-"): value for name, value in changes.items()}
    if content_type is not None:
        headers["Content-Type"] = content_type
    return caller.send("POST", "/api/", headers, body)


def login(caller: Caller, body: bytes, content_type: str | None = FORM, **changes: str) -> Reply:
    headers = {name.replace("_", "-"): value for name, value in changes.items()}
    if content_type is not None:
        headers["Content-Type"] = content_type
    return caller.send("POST", "/auth/login/", headers, body)


def login_form(caller: Caller, **changes: str) -> bytes:
    if not caller.cookies:
        caller.open()
    fields = {
        "csrfmiddlewaretoken": caller.token,
        "username": NOBODY,
        "password": "wrong",
        "region": f"{caller.wire.base}/v3",
    }
    return urlencode(fields | changes).encode()


def refused(reply: Reply, status: int, error: str, field: str | None = None) -> None:
    assert (reply.status, reply.error, reply.envelope.get("field")) == (status, error, field), reply.body
    assert ("field" in reply.envelope) == (field is not None)
    assert reply.header("Content-Type") == "application/json"


# Malformed bodies

NOT_AN_OBJECT = ["[]", '[{"action":"GetFlavors"}]', '"GetFlavors"', "1", "1.5", "true", "null"]
NOT_JSON = [
    "",
    " ",
    "{",
    "}",
    "GetFlavors",
    "action=GetFlavors",
    "{'action':'GetFlavors'}",
    '{"action":"GetFlavors",}',
    '{"action":"GetFlavors"}x',
    '{"action":"GetFlavors"}{}',
    '{"action":"GetFlavors"}\x00',
    '{"action":"GetFlavors"} // why',
    '{"action":"GetFlavors"',
    '{"action":"GetFlavors","x":01}',
    '{"action":"GetFlavors","x":"\t"}',
    '{"action":"GetFlavors","x":undefined}',
    '{"action":"GetFlavors","x":' + "9" * 5000 + "",
    '{"action":"GetFlavors","x":' + "9" * 5000 + "x}",
    '{"action":"GetFlavors","x":' + "9" * 5000 + ',"y":NaN}',
    '{"action":"GetFlavors","x":' + "9" * 5000 + r',"y":"\ud800"}',
    '{"action":"GetFlavors","x":0' + "9" * 5000 + "}",
]


@pytest.mark.parametrize("body", NOT_AN_OBJECT)
def test_json_that_is_no_object(demo: Caller, body: str) -> None:
    refused(post(demo, body.encode()), 400, "malformed_body")


@pytest.mark.parametrize("body", NOT_JSON, ids=lambda body: ascii(body)[:40])
def test_what_is_not_json(demo: Caller, body: str) -> None:
    refused(post(demo, body.encode()), 400, "malformed_body")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "nan", "-NaN"])
@pytest.mark.parametrize("name", ["domainId", "skipped"])
def test_numbers_that_json_does_not_have(demo: Caller, name: str, number: str) -> None:
    refused(post(demo, f'{{"action":"GetFlavors","{name}":{number}}}'.encode()), 400, "malformed_body")


@pytest.mark.parametrize("half", [r"\ud800", r"\udfff", r"a\ud83dz", r"\ude00\ud83d", r"\uD800"])
def test_half_characters(demo: Caller, half: str) -> None:
    for body in (
        f'{{"action":"GetDomainDetail","domainId":"{half}"}}',
        f'{{"action":"GetFlavors","skipped":"{half}"}}',
        f'{{"action":"GetFlavors","skipped":["{half}"]}}',
        f'{{"action":"GetFlavors","{half}":1}}',
        f'{{"action":"{half}"}}',
    ):
        refused(post(demo, body.encode()), 400, "malformed_body")


@pytest.mark.parametrize("raw", [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"])
def test_bytes_that_are_not_utf_8_in_json(demo: Caller, raw: bytes) -> None:
    for body in (
        b'{"action":"GetDomainDetail","domainId":"%b"}' % raw,
        b'{"action":"GetFlavors","skipped":"%b"}' % raw,
        b'{"action":"GetFlavors","%b":1}' % raw,
        b'{"action":"%b"}' % raw,
    ):
        refused(post(demo, body), 400, "malformed_body")


@pytest.mark.parametrize("raw", [b"\xff", b"%FF", b"%C3", b"%C0%AF", b"%ED%A0%80", b"\xc3"])
def test_what_is_not_utf_8_in_a_form(demo: Caller, raw: bytes) -> None:
    for body in (
        b"action=GetDomainDetail&domainId=" + raw,
        b"action=GetFlavors&skipped=" + raw,
        b"action=GetFlavors&" + raw + b"=1",
        b"action=" + raw,
    ):
        refused(post(demo, body, FORM), 400, "malformed_body")


@pytest.mark.parametrize("raw", [b"\xff", b"%FF"])
def test_what_is_not_utf_8_in_a_login(visitor: Caller, raw: bytes) -> None:
    refused(login(visitor, login_form(visitor) + b"&skipped=" + raw), 400, "malformed_body")


def test_a_form_of_too_many_fields(demo: Caller, visitor: Caller) -> None:
    refused(post(demo, b"action=GetFlavors" + b"&field=" * 64, FORM), 400, "malformed_body")
    refused(login(visitor, login_form(visitor) + b"&field=" * 64), 400, "malformed_body")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "gb18030"])
def test_json_in_another_encoding(demo: Caller, encoding: str) -> None:
    refused(post(demo, '{"action":"获取"}'.encode(encoding)), 400, "malformed_body")


@pytest.mark.parametrize(("opening", "closing", "depth"), [("[", "]", 32_000), ('{"a":', "}", 10_700)])
def test_nesting_deeper_than_can_be_read(demo: Caller, opening: str, closing: str, depth: int) -> None:
    deep = opening * depth + "1" + closing * depth
    # How deep that is depends on the interpreter; on every one it is the parser that gives up, not the service.
    with pytest.raises(RecursionError):
        msgspec.json.decode(deep)
    refused(post(demo, f'{{"action":"GetFlavors","skipped":{deep}}}'.encode()), 400, "malformed_body")


def test_nesting_as_deep_as_people_write_is_fine(demo: Caller) -> None:
    deep = "[" * 100 + "]" * 100
    assert post(demo, f'{{"action":"GetFlavors","skipped":{deep}}}'.encode()).status == 200


def test_extra_fields_are_ignored_however_many(demo: Caller) -> None:
    assert post(demo, b'{"action":"GetFlavors"' + b',"a":1' * 5000 + b"}").status == 200


# What is accepted, odd as it may look


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + GOOD,
        b" \r\n\t" + GOOD + b" \r\n\t",
        b'{"action":"Nonsense","action":"GetFlavors"}',
        b'{"action":1,"action":"GetFlavors"}',
        rb'{"\u0061ction":"Get\u0046lavors"}',
        rb'{"action":"GetFlavors","skipped":"\ud83d\ude00 \u0000"}',
        '{"action":"GetFlavors","省略":"中文 😀"}'.encode(),
        b'{"action":"GetFlavors","":0,"null":null,"list":[1,{"a":1.5e3}]}',
        b'{"action":"GetFlavors","skipped":1e400}',
        b'{"action":"GetFlavors","skipped":' + b"9" * 5000 + b"}",
        b'{"action":"GetFlavors","skipped":["' + b"9" * 5000 + b'",-' + b"9" * 5000 + b"]}",
        b'{"action":"GetFlavors","domainId":true}',
    ],
    ids=range(12),
)
def test_odd_json_that_is_fine(demo: Caller, body: bytes) -> None:
    assert post(demo, body).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"action=Nonsense&action=GetFlavors",
        b"&&action=GetFlavors&",
        b"action=GetFlavors&a=b=c&d&=e&f=",
        b"%61ction=Get%46lavors",
        b"action=GetFlavors&skipped=%E4%B8%AD+%00",
        "action=GetFlavors&省略=中文".encode(),
        b"action=GetFlavors&a=%zz&b=%",
        b"action=GetFlavors&domainId=",
    ],
)
def test_odd_forms_that_are_fine(demo: Caller, body: bytes) -> None:
    assert post(demo, body, FORM).status == 200


def test_of_a_repeated_field_the_last_counts_even_where_it_is_worse(demo: Caller) -> None:
    refused(post(demo, b'{"action":"GetFlavors","action":null}'), 400, "missing_field", "action")
    refused(post(demo, b"action=GetFlavors&action=", FORM), 400, "missing_field", "action")


def test_a_semicolon_does_not_end_a_forms_field(demo: Caller) -> None:
    refused(post(demo, b"action=GetFlavors;x=1", FORM), 404, "unknown_action", "action")


def test_a_plus_in_a_form_is_a_space(visitor: Caller) -> None:
    form = login_form(visitor)
    own = quote(visitor.wire.base, safe="").encode()
    assert own in form
    refused(login(visitor, form.replace(b"%2Fv3", b"%2Fa+b")), 400, "unknown_region", "region")
    refused(login(visitor, form.replace(b"%2Fv3", b"%2Fa%2Bb")), 401, "invalid_credentials")


# The action


@pytest.mark.parametrize("body", [b"{}", b'{"action":null}', b'{"action":""}', b'{"Action":"GetFlavors"}'])
def test_an_action_is_needed_in_json(demo: Caller, body: bytes) -> None:
    refused(post(demo, body), 400, "missing_field", "action")


@pytest.mark.parametrize("body", [b"", b"action", b"action=", b"ACTION=GetFlavors", b"domainId=206813", b"&"])
def test_an_action_is_needed_in_a_form(demo: Caller, body: bytes) -> None:
    refused(post(demo, body, FORM), 400, "missing_field", "action")


@pytest.mark.parametrize("value", ["1", "0", "1.5", "true", "false", "[]", '["GetFlavors"]', "{}", '{"a":1}'])
def test_an_action_must_be_text(demo: Caller, value: str) -> None:
    refused(post(demo, f'{{"action":{value}}}'.encode()), 400, "invalid_field", "action")


@pytest.mark.parametrize(
    "name",
    [
        "GetEverything",
        "getflavors",
        "GETFLAVORS",
        " GetFlavors",
        "GetFlavors ",
        "GetFlavors\x00",
        "get_flavors",
        "__class__",
        "获取云主机配置",
        "G" * 10_000,
    ],
)
@pytest.mark.parametrize("as_form", [False, True], ids=["json", "form"])
def test_an_unknown_action(demo: Caller, as_form: bool, name: str) -> None:
    refused(demo.call(name, as_form=as_form), 404, "unknown_action", "action")


# The domain's id


@pytest.mark.parametrize("body", ["", ',"domainId":null', ',"domainId":""', ',"domainid":"206813"'])
def test_a_domain_id_is_needed_in_json(demo: Caller, body: str) -> None:
    refused(post(demo, f'{{"action":"GetDomainDetail"{body}}}'.encode()), 400, "missing_field", "domainId")


@pytest.mark.parametrize("body", [b"", b"&domainId", b"&domainId=", b"&domainID=206813"])
def test_a_domain_id_is_needed_in_a_form(demo: Caller, body: bytes) -> None:
    refused(post(demo, b"action=GetDomainDetail" + body, FORM), 400, "missing_field", "domainId")


@pytest.mark.parametrize(
    "value",
    [
        "true",
        "false",
        "206813.0",
        "1.5",
        "-0.0",
        "2e5",
        "1e400",
        "[]",
        '["206813"]',
        "{}",
        '{"id":"206813"}',
        "1" + "0" * 64,
        "-" + "9" * 64,
        "9" * 4000,
        "9" * 5000,
        "-" + "9" * 5000,
        '"' + "9" * 65 + '"',
        '"' + "中" * 65 + '"',
        '"' + "a" * 5000 + '"',
        r'"206813\n"',
        r'"\u0000"',
        r'"206813\u0000"',
        r'"\u001f"',
        r'"\u007f"',
        r'"\u0085"',
        r'"\u009f"',
    ],
    ids=lambda value: value[:16],
)
def test_what_cannot_be_a_domain_id_in_json(demo: Caller, value: str) -> None:
    reply = post(demo, f'{{"action":"GetDomainDetail","domainId":{value}}}'.encode())
    refused(reply, 400, "invalid_field", "domainId")


@pytest.mark.parametrize("value", ["9" * 65, "中" * 65, "206813\n", "\x00", "206813\x00", "\x1f", "\x7f", "\x85"])
def test_what_cannot_be_a_domain_id_in_a_form(demo: Caller, value: str) -> None:
    refused(demo.call("GetDomainDetail", as_form=True, domainId=value), 400, "invalid_field", "domainId")


@pytest.mark.parametrize(
    "value",
    [
        "0",
        "-0",
        "-206813",
        "1",
        "9" * 20,
        "9" * 64,
        "-" + "9" * 63,
        '"' + "9" * 64 + '"',
        '"' + "中" * 64 + '"',
        '"' + "😀" * 64 + '"',
        '" 206813"',
        '"206813 "',
        '"0206813"',
        '"+206813"',
        '"２０６８１３"',
        '"www.example-demo.com"',
        '"null"',
        '"\u00a0"',
        "\"206813' OR '1'='1\"",
        '"%"',
    ],
    ids=lambda value: value[:16],
)
def test_a_domain_id_that_is_nobodys_in_json(demo: Caller, value: str) -> None:
    reply = post(demo, f'{{"action":"GetDomainDetail","domainId":{value}}}'.encode())
    refused(reply, 404, "domain_not_found", "domainId")


@pytest.mark.parametrize("value", ["0", "-1", "9" * 64, "中" * 64, " 206813", "a b", "a+b", "true", "null", "206813.0"])
def test_a_domain_id_that_is_nobodys_in_a_form(demo: Caller, value: str) -> None:
    refused(demo.call("GetDomainDetail", as_form=True, domainId=value), 404, "domain_not_found", "domainId")


# Media types


@pytest.mark.parametrize(
    "suffix",
    [
        "",
        ";charset=utf-8",
        "; charset=UTF-8",
        ' ; Charset="utf-8"',
        "; charset=utf8",
        ";",
        "; boundary=x",
        "; odata=verbose; charset=utf-8",
    ],
)
@both_forms
def test_a_media_types_parameters_are_fine(demo: Caller, content_type: str, body: bytes, suffix: str) -> None:
    assert post(demo, body, content_type + suffix).status == 200


@pytest.mark.parametrize("change", [str.upper, str.title])
@both_forms
def test_a_media_type_may_be_in_any_case(demo: Caller, content_type: str, body: bytes, change: object) -> None:
    assert callable(change)
    assert post(demo, body, change(content_type)).status == 200


REFUSED_TYPES = [
    None,
    "",
    "text/plain",
    "text/json",
    "application/xml",
    "application/jsonp",
    "application/json5",
    "application/vnd.api+json",
    "multipart/form-data; boundary=x",
    "json",
    "*/*",
    "application/json, application/json",
    "application/json; charset=utf-16",
    "application/json; charset=gb2312",
    "application/json; charset=latin-1",
    "application/x-www-form-urlencoded; charset=gbk",
    "application/x-www-form-urlencoded; charset=iso-8859-1",
]


@pytest.mark.parametrize("content_type", REFUSED_TYPES)
def test_other_media_types_are_refused(demo: Caller, content_type: str | None) -> None:
    refused(post(demo, GOOD, content_type), 415, "unsupported_media_type")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_refusal_names_both_media_types(demo: Caller, language: str) -> None:
    message = post(demo, GOOD, "text/plain", Accept_Language=language).envelope["message"]
    assert JSON in message
    assert FORM in message


@pytest.mark.parametrize("content_type", [None, JSON, "text/plain", FORM + "; charset=gbk"])
def test_a_login_is_a_form(visitor: Caller, content_type: str | None) -> None:
    reply = login(visitor, login_form(visitor), content_type)
    refused(reply, 415, "unsupported_media_type")
    assert FORM in reply.envelope["message"]


# The size of a body


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)], ids=["at the limit", "one over"])
@both_forms
def test_the_limit_of_a_calls_body(demo: Caller, content_type: str, body: bytes, more: int, status: int) -> None:
    begin, padding = (body, b" ") if content_type == JSON else (body + b"&skipped=", b"x")
    reply = post(demo, begin.ljust(LIMIT + more, padding), content_type)
    assert reply.status == status
    if status == 413:
        refused(reply, 413, "body_too_large")
        assert str(LIMIT) in reply.envelope["message"]


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 413)], ids=["at the limit", "one over"])
def test_the_limit_of_a_body_that_comes_in_chunks(remote: OverHttp, more: int, status: int) -> None:
    caller = Caller(remote)
    caller.login()
    body = GOOD.ljust(LIMIT + more)
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:1000], body[1000:], b""))
    assert post(caller, chunks, Transfer_Encoding="chunked").status == status


@pytest.mark.parametrize(("more", "status"), [(0, 401), (1, 413)], ids=["at the limit", "one over"])
def test_the_limit_of_a_logins_body(visitor: Caller, more: int, status: int) -> None:
    form = (login_form(visitor) + b"&skipped=").ljust(LIMIT + more, b"x")
    assert login(visitor, form).status == status


def test_a_visitor_is_told_of_the_size_first(visitor: Caller) -> None:
    refused(post(visitor, b"x" * (LIMIT + 1), "text/plain"), 413, "body_too_large")


def test_a_limit_of_ones_own(settings: Settings, clock: HeldClock) -> None:
    own = InProcess(Console(settings_over(settings.data, max_body=2000), clock))
    caller = Caller(own)
    statuses = [login(caller, (login_form(caller) + b"&x=").ljust(size, b"x")).status for size in (2000, 2001)]
    own.close()
    assert statuses == [401, 413]


# Who calls


@both_forms
def test_without_any_session(visitor: Caller, content_type: str, body: bytes) -> None:
    refused(post(visitor, body, content_type), 401, "login_required")


@both_forms
def test_with_an_anonymous_session(visitor: Caller, content_type: str, body: bytes) -> None:
    visitor.open()
    refused(post(visitor, body, content_type), 401, "login_required")


@pytest.mark.parametrize("session", ["s" + "0" * 48, "a" + "0" * 48, "x", "", '"quoted"', "s" + "é" * 48])
def test_with_a_made_up_session(demo: Caller, session: str) -> None:
    demo.cookies["sessionid"] = session
    refused(post(demo, GOOD), 401, "login_required")


@pytest.mark.parametrize("token", ["", "x", "0" * 64, "é" * 64])
@both_forms
def test_without_the_sessions_token(demo: Caller, content_type: str, body: bytes, token: str) -> None:
    refused(post(demo, body, content_type, **{"X-CSRFToken": token}), 403, "csrf_failed")


def test_without_any_token_header(demo: Caller) -> None:
    refused(demo.send("POST", "/api/", {"Content-Type": JSON}, GOOD), 403, "csrf_failed")


def test_a_token_in_the_body_is_not_the_header(demo: Caller) -> None:
    body = urlencode({"action": "GetFlavors", "csrfmiddlewaretoken": demo.token}).encode()
    refused(demo.send("POST", "/api/", {"Content-Type": FORM}, body), 403, "csrf_failed")


def test_another_sessions_token(demo: Caller, other: Caller) -> None:
    demo.cookies["csrftoken"] = other.token
    refused(post(demo, GOOD), 403, "csrf_failed")


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_from_a_foreign_page(demo: Caller, header: Mapping[str, str]) -> None:
    refused(post(demo, GOOD, **header), 403, "csrf_failed")


@pytest.mark.parametrize(
    "host",
    [
        "console.example.com",
        "127.0.0.1.example.com",
        "[::1",
        *(pytest.param(host, marks=pytest.mark.before_nginx) for host in ("a b", "", "localhost:99999")),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/api/"), ("POST", "/api/"), ("GET", "/nowhere")])
def test_a_host_that_is_not_served(visitor: Caller, method: str, path: str, host: str) -> None:
    refused(visitor.send(method, path, {"Host": host}), 400, "invalid_host")


# Login


@pytest.mark.parametrize("name", ["username", "password", "region"])
def test_a_login_needs_each_of_its_fields(visitor: Caller, name: str) -> None:
    absent: dict[str, Any] = {name: None}
    empty: dict[str, Any] = {name: ""}
    refused(visitor.login(**absent), 400, "missing_field", name)
    refused(visitor.login(**empty), 400, "missing_field", name)


def test_a_login_needs_a_token(visitor: Caller) -> None:
    refused(visitor.login(csrfmiddlewaretoken=None), 403, "csrf_failed")
    refused(visitor.login(csrfmiddlewaretoken="0" * 64), 403, "csrf_failed")


@pytest.mark.parametrize("region", ["nonsense", "https://identity.example.com/v3", "{base}?x", "{base}#x", " {base}"])
def test_a_login_for_an_unknown_region(visitor: Caller, region: str) -> None:
    reply = visitor.login(region=region.format(base=visitor.wire.base))
    refused(reply, 400, "unknown_region", "region")
    assert f"{visitor.wire.base}/v3" in reply.envelope["message"]


@pytest.mark.parametrize(
    ("username", "password"),
    [(NOBODY, "wrong"), ("demo", "wrong"), ("Demo", "console-demo"), ("demo ", "console-demo"), ("demo\x00", "x")],
)
def test_wrong_credentials(visitor: Caller, username: str, password: str) -> None:
    reply = visitor.login(username, password)
    refused(reply, 401, "invalid_credentials")
    assert reply.set_cookies == {}
    assert visitor.login().status == 200


def test_an_unknown_user_is_refused_word_for_word_like_a_known_one(visitor: Caller) -> None:
    unknown, known = visitor.login(NOBODY, "wrong"), visitor.login("demo", "wrong")
    assert unknown.body == known.body
    assert visitor.login().status == 200


def test_a_logout_without_a_session(visitor: Caller) -> None:
    visitor.open()
    refused(visitor.logout(), 401, "login_required")


def test_a_logout_without_the_token(demo: Caller) -> None:
    refused(demo.send("POST", "/auth/logout/"), 403, "csrf_failed")


def test_after_too_many_wrong_logins_one_must_wait(settings: Settings, clock: HeldClock) -> None:
    own = InProcess(Console(settings, clock))
    caller = Caller(own)
    statuses = [caller.login("demo", "wrong").status for _ in range(10)]
    reply = caller.login("demo", "wrong")
    own.close()
    assert statuses == [401] * 10
    refused(reply, 429, "too_many_requests")
    assert 1 <= int(reply.header("Retry-After") or "") <= 60
    carries_what_all_carry(reply)


# Which of several faults is told


@pytest.mark.before_nginx
def test_the_order_of_checks_of_a_call(demo: Caller) -> None:
    with_cookies = "; ".join(f"{name}={value}" for name, value in demo.cookies.items())
    faulty = {"Host": "elsewhere.example", "Content-Type": "text/plain", "Cookie": "x=1", "X-CSRFToken": "wrong"}
    body = b"\xff" * (LIMIT + 1)

    def told() -> tuple[int, str, str | None]:
        reply = demo.send("POST", "/api/", faulty, body)
        return reply.status, reply.error, reply.envelope.get("field")

    seen = [told()]
    del faulty["Host"]
    seen.append(told())
    body = b"\xff"
    seen.append(told())
    faulty["Content-Type"] = JSON
    seen.append(told())
    faulty["Cookie"] = with_cookies
    seen.append(told())
    faulty["X-CSRFToken"] = demo.token
    seen.append(told())
    body = b'{"domainId":false}'
    seen.append(told())
    body = b'{"domainId":false,"action":"Nonsense"}'
    seen.append(told())
    body = b'{"domainId":false,"action":"GetDomainDetail"}'
    seen.append(told())
    body = b'{"domainId":"0","action":"GetDomainDetail"}'
    seen.append(told())
    assert seen == [
        (400, "invalid_host", None),
        (413, "body_too_large", None),
        (415, "unsupported_media_type", None),
        (401, "login_required", None),
        (403, "csrf_failed", None),
        (400, "malformed_body", None),
        (400, "missing_field", "action"),
        (404, "unknown_action", "action"),
        (400, "invalid_field", "domainId"),
        (404, "domain_not_found", "domainId"),
    ]


@pytest.mark.before_nginx
def test_the_order_of_checks_of_a_login(visitor: Caller) -> None:
    visitor.open()
    headers = {"Host": "elsewhere.example", "Content-Type": JSON}
    fields = {"csrfmiddlewaretoken": "wrong", "region": "nonsense", "padding": "x" * LIMIT}

    def told() -> tuple[int, str, str | None]:
        reply = visitor.send("POST", "/auth/login/", headers, urlencode(fields).encode())
        return reply.status, reply.error, reply.envelope.get("field")

    seen = [told()]
    del headers["Host"]
    seen.append(told())
    del fields["padding"]
    seen.append(told())
    headers["Content-Type"] = FORM
    seen.append(told())
    fields["csrfmiddlewaretoken"] = visitor.token
    seen.append(told())
    fields["username"] = NOBODY
    seen.append(told())
    fields["password"] = "wrong"
    seen.append(told())
    fields["region"] = f"{visitor.wire.base}/v3"
    seen.append(told())
    assert seen == [
        (400, "invalid_host", None),
        (413, "body_too_large", None),
        (415, "unsupported_media_type", None),
        (403, "csrf_failed", None),
        (400, "missing_field", "username"),
        (400, "missing_field", "password"),
        (400, "unknown_region", "region"),
        (401, "invalid_credentials", None),
    ]


def test_the_order_of_checks_of_a_logout(demo: Caller) -> None:
    host = {"Host": "elsewhere.example", "Cookie": "x=1", "X-CSRFToken": "wrong"}
    no_session = {"Cookie": "x=1", "X-CSRFToken": "wrong"}
    no_token = {"X-CSRFToken": "wrong"}
    seen = [demo.send("POST", "/auth/logout/", headers).error for headers in (host, no_session, no_token)]
    assert seen == ["invalid_host", "login_required", "csrf_failed"]


# Words

LANGUAGES = [
    (None, "en"),
    ("en", "en"),
    ("zh", "zh"),
    ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
    ("en;q=0.8,zh;q=0.9", "zh"),
    ("en-GB,en;q=0.9,zh;q=0.8", "en"),
    ("zh;q=0.5,en;q=0.5", "en"),
    ("fr,de;q=0.5", "en"),
    ("fr,zh;q=0.1", "zh"),
    ("zh;q=0", "en"),
    ("*", "en"),
]


def _is_chinese(message: str) -> bool:
    return re.search("[一-鿿]", message) is not None


def _headers(language: str | None) -> dict[str, str]:
    return {} if language is None else {"Accept_Language": language}


@pytest.mark.parametrize(("header", "language"), LANGUAGES)
def test_a_refusal_is_in_the_callers_language(demo: Caller, header: str | None, language: str) -> None:
    reply = post(demo, b"{}", **_headers(header))
    refused(reply, 400, "missing_field", "action")
    assert _is_chinese(reply.envelope["message"]) == (language == "zh")


@pytest.mark.parametrize(("header", "language"), LANGUAGES)
def test_a_success_is_in_the_callers_language(demo: Caller, header: str | None, language: str) -> None:
    assert _is_chinese(post(demo, GOOD, **_headers(header)).envelope["message"]) == (language == "zh")


@pytest.mark.parametrize(
    "action", ["GetUsageLimits", "GetFlavors", "GetUrlList", "GetNews", "GetConsumptionsEstimated", "GetDomainDetail"]
)
def test_data_does_not_vary_with_the_language(demo: Caller, action: str) -> None:
    body = json.dumps({"action": action, "domainId": "206814"}).encode()
    replies = [post(demo, body, Accept_Language=language) for language in ("en", "zh")]
    assert replies[0].data == replies[1].data
    assert replies[0].envelope["message"] != replies[1].envelope["message"]


def test_the_welcome_does_not_vary_with_the_language_but_in_its_words(visitor: Caller) -> None:
    replies = [visitor.send("GET", "/api/", {"Accept-Language": language}) for language in ("en", "zh")]
    assert replies[0].data == replies[1].data
    assert [_is_chinese(reply.envelope["message"]) for reply in replies] == [False, True]


# What every response carries


def carries_what_all_carry(reply: Reply, caching: str = "no-store") -> None:
    assert reply.header("Cache-Control") == caching
    assert reply.header("X-Content-Type-Options") == "nosniff"
    assert reply.header("X-Frame-Options") == "DENY"
    assert reply.header("Referrer-Policy") == "same-origin"
    assert "default-src 'none'" in (reply.header("Content-Security-Policy") or "")
    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", reply.header("X-Request-ID") or "")
    assert [name for name, _ in reply.headers if name.lower().startswith("access-control-")] == []


KINDS = {
    "the page": (200, "GET", "/", {}, b""),
    "the page's head": (200, "HEAD", "/", {}, b""),
    "the welcome": (200, "GET", "/api/", {}, b""),
    "its head": (200, "HEAD", "/api/", {}, b""),
    "options": (204, "OPTIONS", "/api/", {}, b""),
    "a slash": (308, "GET", "/api", {}, b""),
    "not utf-8": (400, "POST", "/api/", {"Content-Type": JSON}, b"\xff"),
    "a host": (400, "GET", "/", {"Host": "elsewhere.example"}, b""),
    "no session": (401, "POST", "/api/", {"Content-Type": JSON, "Cookie": "x=1"}, GOOD),
    "no token": (403, "POST", "/api/", {"Content-Type": JSON, "X-CSRFToken": "x"}, GOOD),
    "unknown path": (404, "GET", "/nowhere", {}, b""),
    "unknown path's head": (404, "HEAD", "/nowhere", {}, b""),
    "unknown action": (404, "POST", "/api/", {"Content-Type": JSON}, b'{"action":"Nonsense"}'),
    "method": (405, "DELETE", "/api/", {}, b""),
    "size": (413, "POST", "/api/", {"Content-Type": JSON}, b"x" * (LIMIT + 1)),
    "media type": (415, "POST", "/api/", {"Content-Type": "text/plain"}, GOOD),
    "a call": (200, "POST", "/api/", {"Content-Type": JSON}, GOOD),
    "a login": (415, "POST", "/auth/login/", {"Content-Type": JSON}, b"{}"),
}


def _send_kind(demo: Caller, kind: str, more: Mapping[str, str]) -> Reply:
    status, method, path, headers, body = KINDS[kind]
    reply = demo.send(method, path, {"X-CSRFToken": demo.token, **headers, **more}, body)
    assert reply.status == status
    return reply


@pytest.mark.parametrize("kind", KINDS)
def test_every_response_carries_the_headers_that_all_carry(demo: Caller, kind: str) -> None:
    # The page is the same for everyone, and says nothing of anyone.
    carries_what_all_carry(_send_kind(demo, kind, {}), "no-cache" if "the page" in kind else "no-store")


@pytest.mark.parametrize("kind", KINDS)
def test_every_response_carries_the_callers_request_id(demo: Caller, kind: str) -> None:
    given = "Mine-1_2.3"
    assert _send_kind(demo, kind, {"X-Request-ID": given}).header("X-Request-ID") == given


@pytest.mark.parametrize("kind", KINDS)
def test_no_response_lets_foreign_pages_read_it(demo: Caller, kind: str) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-csrftoken"}
    reply = _send_kind(demo, kind, asked)
    assert [name for name, _ in reply.headers if name.lower().startswith("access-control-")] == []


def test_login_and_logout_carry_them_too(visitor: Caller) -> None:
    for reply in (visitor.login(NOBODY, "wrong"), visitor.login(), visitor.logout()):
        carries_what_all_carry(reply)


@pytest.mark.parametrize("given", ["x" * 65, "", "a b", "a;b", "é", "<x>", "a,b"])
def test_a_request_id_that_is_none_is_replaced(visitor: Caller, given: str) -> None:
    replies = [visitor.send("GET", "/api/", {"X-Request-ID": given}) for _ in range(2)]
    made = [reply.header("X-Request-ID") or "" for reply in replies]
    assert given not in made
    assert made[0] != made[1]
    assert all(re.fullmatch("[A-Za-z0-9._-]{1,64}", each) for each in made)


def test_the_longest_request_id_is_kept(visitor: Caller) -> None:
    assert visitor.send("GET", "/api/", {"X-Request-ID": "x" * 64}).header("X-Request-ID") == "x" * 64


# Trouble behind the console, by stand-ins in its place


class Trouble:
    """Every part of the console's backend, in trouble."""

    problem: Exception = UpstreamFailed()

    def __init__(self, *_: object) -> None:
        pass

    async def knows_username(self, _username: str) -> bool:
        return False

    async def fail(self, *_: object) -> None:
        raise self.problem

    urls = domain = news = usage_limits = flavors = consumption = fail


class TroubledIdentity(Trouble):
    async def authenticate(self, _username: str, _password: str, _caller: object) -> Account | None:
        raise self.problem


CALLS: dict[str, dict[str, Any]] = {
    "GetUsageLimits": {},
    "GetFlavors": {},
    "GetUrlList": {},
    "GetNews": {},
    "GetConsumptionsEstimated": {},
    "GetDomainDetail": {"domainId": "206813"},
}

TROUBLES = pytest.mark.parametrize(
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
def troubled(settings: Settings, clock: HeldClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    """Someone logged in at a console whose cloud and content fail."""
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedCloud", Trouble)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedContent", Trouble)
    own = InProcess(Console(settings, clock))
    caller = Caller(own)
    assert caller.login().status == 200
    yield caller
    own.close()


def told_of_trouble(reply: Reply, status: int, error: str) -> None:
    refused(reply, status, error)
    carries_what_all_carry(reply)
    assert b"secret" not in reply.body
    assert b"Traceback" not in reply.body
    assert (reply.header("Retry-After") is not None) == (status == 503)
    if status == 500:
        assert reply.header("X-Request-ID") in reply.envelope["message"]


@TROUBLES
def test_trouble_behind_an_action_is_told_as_such(
    troubled: Caller, monkeypatch: pytest.MonkeyPatch, problem: Exception, status: int, error: str
) -> None:
    monkeypatch.setattr(Trouble, "problem", problem)
    for action, fields in CALLS.items():
        told_of_trouble(troubled.call(action, **fields), status, error)
        told_of_trouble(troubled.call(action, as_form=True, **fields), status, error)


def test_trouble_is_told_in_the_callers_language(troubled: Caller) -> None:
    assert _is_chinese(post(troubled, GOOD, Accept_Language="zh").envelope["message"])


@TROUBLES
def test_trouble_behind_a_login_is_never_wrong_credentials(
    settings: Settings,
    clock: HeldClock,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
    status: int,
    error: str,
) -> None:
    monkeypatch.setattr(TroubledIdentity, "problem", problem)
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedIdentity", TroubledIdentity)
    own = InProcess(Console(settings, clock))
    reply = Caller(own).login()
    own.close()
    told_of_trouble(reply, status, error)
    assert reply.set_cookies == {}


def test_trouble_behind_a_login_does_not_count_as_a_failure(
    settings: Settings, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloudconsole.server.app.EmbeddedIdentity", TroubledIdentity)
    own = InProcess(Console(settings, clock))
    caller = Caller(own)
    statuses = {caller.login().status for _ in range(12)}
    own.close()
    assert statuses == {502}


def test_too_many_logins_at_once_are_asked_to_come_back(
    settings: Settings, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloudconsole.server.app.QUEUE_LIMIT", 0)
    own = InProcess(Console(settings, clock))
    reply = Caller(own).login()
    own.close()
    told_of_trouble(reply, 503, "unavailable")


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
def test_a_store_that_cannot_be_read_is_told_as_such_until_it_can(
    data: Path, settings: Settings, clock: HeldClock, table: str, action: str
) -> None:
    own = InProcess(Console(settings, clock))
    caller = Caller(own)
    caller.login()
    store = open_engine(data, "cloud")
    replies = []
    for statement in (f"ALTER TABLE {table} RENAME TO away", f"ALTER TABLE away RENAME TO {table}"):
        with store.begin() as connection:
            connection.execute(text(statement))
        replies.append(caller.call(action))
    store.dispose()
    own.close()
    told_of_trouble(replies[0], 503, "unavailable")
    assert replies[1].status == 200


def test_a_console_that_stops_refuses_what_is_new(settings: Settings, clock: HeldClock) -> None:
    own = InProcess(Console(settings, clock))
    own.console.draining = True
    replies = [Caller(own).send(method, path) for method, path in (("GET", "/api/"), ("GET", "/"), ("POST", "/api/"))]
    own.close()
    for reply in replies:
        told_of_trouble(reply, 503, "unavailable")
        assert (reply.header("Connection") or "").lower() == "close"

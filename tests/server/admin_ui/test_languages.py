"""Every page and message exists in English and Chinese; the choice of the language."""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

import pytest
from sqlalchemy import insert

from cloudconsole.operator.entities import ENTITY_TYPES, NEWS, TENANTS, EntityType
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.admin_ui import labels, messages, names
from cloudconsole.server.admin_ui.i18n import Label, message_markup
from cloudconsole.server.admin_ui.labels import help_of, label_of
from cloudconsole.server.app import Console
from cloudconsole.spec.i18n import Text
from cloudconsole.store.tables import operator_audit
from tests.harness import FORM, FakeClock, InProcessTransport
from tests.server.admin_ui.pages import GETS, LANGUAGE, Operator, Page
from tests.stores import copy_store, opened, settings_for, write_transaction

TEMPLATES = files("cloudconsole.server.admin_ui") / "templates"
CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9"}
KEYS = {
    "tenant": "demo",
    "account": "demo",
    "quota": "demo",
    "node": "hk-1",
    "price": "volume/gb/2025-01-01T00:00:00Z/hk-1",
    "resource": "i-d0000001",
    "flavor": "1",
    "url": "url-d3m0l1nk",
    "domain": "206813",
    "news": "3",
}
DATA = ("title", "bdi", "code", "textarea", "time", "datalist", "script")
"""Elements with data or code, which have no language."""
KNOWN_WORDS = {
    "CNAME", "CSV", "Cookie", "Deployed", "Enter", "GB", "HTTP", "ID", "IP", "JSON", "MB", "NFC", "OpenStack",
    "PostgreSQL", "URL", "UTC", "CNY", "account", "com", "demo", "deny", "example", "hk", "http", "https", "login",
    "mode", "operator", "ov", "pathPattern", "referer", "static", "ttlSeconds", "type", "url", "web", "www",
}  # fmt: skip
"""Abbreviations, examples of values, and the account in the footer."""
_WORD = re.compile(r"[A-Za-z]{2,}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


class ChineseOperator(Operator):
    """An operator whose browser prefers Chinese."""

    def __init__(self, transport: InProcessTransport) -> None:
        super().__init__(transport)
        send = self.client.send

        def send_in_chinese(
            method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
        ) -> object:
            return send(method, path, {**CHINESE, **(headers or {})}, body)

        self.client.send = send_in_chinese  # type: ignore[method-assign, assignment]


@pytest.fixture
def chinese(transport: InProcessTransport) -> Operator:
    operator = ChineseOperator(transport)
    assert operator.sign_in().status == 200
    return operator


@pytest.fixture(scope="module")
def every_page(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    """All pages in Chinese, of a store with a few changes in the audit log."""
    data = copy_store(fast_hash_store, tmp_path_factory.mktemp("chinese") / "data")
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="root", now=1_794_000_000) as tx:
        TENANTS.disable(tx, "other")
        TENANTS.enable(tx, "other")
        NEWS.add(tx, {"title": "标题", "url": "https://n.example/", "date": "2027-01-01T00:00:00Z"})
    transport = InProcessTransport(Console(settings_for(data), FakeClock(1_794_744_000)))
    operator = ChineseOperator(transport)
    sign_in = operator.get("/admin/sign-in/")
    operator.sign_in()
    pages = {path: operator.get(f"{path}?{urlencode({'key': KEYS.get(path.split('/')[2], '')})}") for path in GETS}
    pages["logins"] = operator.get("/admin/audit/?log=access")
    pages["missing"] = operator.get("/admin/tenant/one/?key=99")
    yield {**pages, "/admin/sign-in/": sign_in}
    transport.close()


def shown_texts(element: Element) -> Iterator[str]:
    """Yield the texts that a page shows or a screen reader says, without data."""
    if element.tag not in DATA:
        for name in ("alt", "aria-label", "data-label", "title", "placeholder"):
            yield element.get(name, "")
        if element.get("lang") != "en":
            yield element.text or ""
        for child in element:
            yield from shown_texts(child)
    yield element.tail or ""


def english_words(page: Page) -> set[str]:
    return {word for text in shown_texts(page.root) for word in _WORD.findall(text)} - KNOWN_WORDS


@pytest.mark.parametrize("path", [*GETS, "/admin/sign-in/", "logins", "missing"])
def test_chinese_page_has_no_english_text(every_page: dict[str, Page], path: str) -> None:
    page = every_page[path]
    assert page.root.get("lang") == "zh"
    assert [element.tag for element in page.root.iter() if element.get("lang") == "en"] == ["button"]
    assert (english_words(page), "Text(" in page.html) == (set(), False)


REJECTED: list[tuple[str, str, dict[str, str]]] = [
    ("flavor/add/", "add", {"id": "x", "vcpus": "two", "ram": "0", "disk": "99999999999999999999"}),
    ("resource/add/", "add", {"id": "i9", "tenant": "demo", "kind": "instance", "name": "9", "node": "hk-1"}),
    ("price/add/", "add", {"kind": "volume", "unit": "each", "price": "1.0000000001", "from": "2027-01-01T00:00"}),
    ("domain/one/?key=206813", "change", {"cacheBehaviors": "[", "originConfig.originIps": "9"}),
    ("account/password/?key=demo", "password", {"password": "12", "password_again": "12"}),
    ("quota/one/?key=demo", "change", {"cores": "1"}),
    ("price/one/?key=volume/gb/2026-01-01T00:00:00Z/hk-1", "change", {"price": "9"}),
    ("news/add/", "add", {"title": "一\u200b", "url": "9", "date": "9"}),
    ("tenant/add/", "add", {"name": "demo", "project": "9"}),
    ("account/one/?key=demo", "change", {"role": "operator"}),
    ("price/remove/?key=volume/gb/2026-01-01T00:00:00Z/hk-1", "remove", {}),
]


@pytest.mark.parametrize(
    ("path", "verb", "values"), REJECTED, ids=[f"{path} {' '.join(values)}" for path, _, values in REJECTED]
)
def test_rejection_is_explained_in_chinese(chinese: Operator, path: str, verb: str, values: dict[str, str]) -> None:
    form = chinese.get(f"/admin/{path}").form(f"/{verb}/")
    page = Page(chinese.post(form.action, form.fields | values))
    assert (page.status, bool(page.problems)) == (422, True)
    assert page.problems[0].startswith(("未做任何更改", "请确认此更改", "将改变"))
    assert english_words(page) == set()


def test_impossible_action_is_explained_in_chinese(chinese: Operator) -> None:
    page = chinese.get("/admin/account/remove/?key=operator")
    assert page.problems == ["无法执行此操作", "账户 operator 是最后一个可以登录的管理员，请先创建另一个"]
    assert english_words(page) == set()


@pytest.mark.parametrize(
    ("verb", "heading"),
    [
        ("password", "重置账户 demo 的密码"),
        ("end-sessions", "结束账户 demo 的会话"),
        ("clear-throttle", "解除账户 demo 的锁定"),
        ("disable", "停用账户 demo"),
    ],
)
def test_question_about_an_account_has_the_word_order_of_chinese(chinese: Operator, verb: str, heading: str) -> None:
    assert chinese.get(f"/admin/account/{verb}/?key=demo").heading == heading


def test_zone_and_optional_share_their_parentheses(chinese: Operator) -> None:
    assert "开始时间（UTC，可选）" in chinese.get("/admin/resource/add/").text


def test_dependents_are_named_in_chinese(chinese: Operator) -> None:
    page = chinese.get("/admin/node/remove/?key=hk-1")
    assert "暂时无法删除此节点" in page.text
    assert english_words(page) == set()


def test_notice_and_conflict_are_in_chinese(chinese: Operator) -> None:
    form = chinese.get("/admin/quota/one/?key=demo").form("/change/")
    page = chinese.send(chinese.get("/admin/quota/one/?key=demo").form("/change/"), cores="70")
    assert "demo 的配额：已修改" in page.text
    page = chinese.send(form, cores="80")
    assert (page.status, "当前值：70" in page.text) == (409, True)


def test_terms_are_those_of_the_pages(operator: Operator, chinese: Operator) -> None:
    form = operator.get("/admin/price/add/").form("/add/")
    sent = {**form.fields, "kind": "loadbalance", "unit": "gb", "price": "1", "from": "2027-01-01T00:00"}
    assert "must be each for a load balancer" in Page(operator.post(form.action, sent)).text
    sent["csrfmiddlewaretoken"] = chinese.get("/admin/").form("/sign-out/").fields["csrfmiddlewaretoken"]
    assert "负载均衡的计价单位只能是每个" in Page(chinese.post(form.action, sent)).text


def test_untranslated_message_is_marked_as_english() -> None:
    assert message_markup("a <b>", "zh") == '<span lang="en">a &lt;b&gt;</span>'
    assert message_markup("a", "en") == "a"


# Choice


def test_choice_is_kept_in_a_cookie_and_returns_to_the_page(operator: Operator) -> None:
    page = operator.get("/admin/tenant/?search=d")
    assert (page.root.get("lang"), page.heading) == ("en", "Tenants")
    page = operator.send(page.language_form, language="zh")
    assert (page.root.get("lang"), page.heading, page.forms[1].fields["search"]) == ("zh", "租户", "d")
    assert operator.get("/admin/node/").heading == "节点"
    assert operator.send(page.language_form, language="en").heading == "Tenants"


def test_choice_works_without_session_and_wins_over_the_browser(transport: InProcessTransport) -> None:
    anonymous = ChineseOperator(transport)
    page = anonymous.get("/admin/sign-in/?next=/admin/node/")
    assert page.heading == "登录"
    page = anonymous.send(page.language_form, language="en")
    assert (page.heading, page.forms[0].fields["next"]) == ("Sign in", "/admin/node/")


def chosen_in_form(operator: Operator, page: Page, ending: str, language: str, **values: str | bool | None) -> Page:
    """Press a button of the language on the result of a form, in which more was typed."""
    (address,) = [
        attributes["formaction"]
        for tag, attributes in page.tags
        if tag == "button" and attributes.get("form") == "entity-form" and attributes.get("lang") == language
    ]
    sent = page.form(ending).filled(**values, cancel=True)
    reply = operator.post(address, sent)
    assert reply.status == 307
    return Page(operator.post(reply.header("location") or "", sent))


@pytest.mark.parametrize(
    ("path", "ending", "rejected", "typed"),
    [
        ("news/one/?key=1", "/change/", {"title": ""}, {"title": "typed", "url": "no"}),
        ("tenant/add/", "/add/", {"name": "demo"}, {"name": "demo 2"}),
        ("account/clear-throttle/?key=demo", "/clear-throttle/", {"address": "x"}, {"address": "y"}),
    ],
)
def test_choice_after_a_rejected_form_keeps_what_is_typed(
    operator: Operator, path: str, ending: str, rejected: dict[str, str], typed: dict[str, str]
) -> None:
    page = operator.send(operator.get(f"/admin/{path}").form(ending), **rejected)
    assert page.status == 422
    page = chosen_in_form(operator, page, ending, "zh", **typed)
    assert (page.status, page.problems, page.root.get("lang")) == (200, [], "zh")
    assert typed.items() <= page.form(ending).fields.items()
    assert operator.get("/admin/").root.get("lang") == "zh"


def test_choice_in_a_question_does_not_confirm_it(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/account/one/?key=demo").form("/change/"), role="operator")
    page = chosen_in_form(operator, page, "/change/", "zh")
    assert (page.status, page.problems, page.form("/change/").fields["role"]) == (200, [], "operator")
    assert operator.get("/admin/account/one/?key=demo").form("/change/").fields["role"] == "tenant"


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("language=fr&form=/admin/tenant/add/", {}, 303),
        ("language=zh&form=https://evil.example/", {}, 303),
        ("language=zh&form=//evil.example/admin/tenant/add/", {}, 303),
        ("language=zh&form=/admin/", {}, 303),
        ("language=zh&form=/admin/tenant/add/%0d%0ax", {}, 303),
        ("language=zh&form=/admin/tenant/add/", {"Origin": "https://evil.example"}, 403),
    ],
)
def test_choice_for_an_invalid_form_goes_home(
    operator: Operator, query: str, headers: dict[str, str], status: int
) -> None:
    reply = operator.post(f"{LANGUAGE}?{query}", {"name": "typed"}, **headers)
    assert (reply.status, reply.header("location")) == (status, "/admin/" if status == 303 else None)


def test_choice_for_a_form_without_session_goes_home(anonymous: Operator) -> None:
    reply = anonymous.post(f"{LANGUAGE}?language=zh&form=/admin/tenant/add/", {"name": "typed"})
    assert (reply.status, reply.header("location")) == (303, "/admin/")


@pytest.mark.parametrize(
    ("fields", "headers", "status"),
    [
        ({"language": "fr"}, {}, 303),
        ({"language": "zh", "next": "https://evil.example/"}, {}, 303),
        ({"language": "zh"}, {"Origin": "https://evil.example"}, 403),
        ({"language": "zh"}, {"Sec-Fetch-Site": "cross-site"}, 403),
        ({"language": "zh"}, {"Content-Type": "application/json"}, 415),
    ],
)
def test_invalid_choice_is_rejected(
    anonymous: Operator, fields: dict[str, str], headers: dict[str, str], status: int
) -> None:
    reply = anonymous.post(LANGUAGE, fields, **headers)
    is_set = "operatorlanguage" in reply.set_cookies
    assert (reply.status, is_set) == (status, status == 303 and fields["language"] == "zh")
    assert reply.header("location") in (None, "/admin/")


def test_cookie_has_a_year_and_the_admin_path(anonymous: Operator) -> None:
    reply = anonymous.client.send("POST", LANGUAGE, {"Content-Type": FORM}, b"language=zh")
    assert reply.set_cookies["operatorlanguage"] == (
        "operatorlanguage=zh; HttpOnly; Max-Age=31449600; Path=/admin/; SameSite=Lax"
    )
    anonymous.client.cookies["operatorlanguage"] = "fr"
    assert anonymous.get("/admin/sign-in/").root.get("lang") == "en"


# Tables


def texts_of(value: object) -> Iterator[Text]:
    if isinstance(value, Text):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from texts_of(each)


@pytest.mark.parametrize("module", [messages, labels, names], ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_text_has_both_languages(module: object) -> None:
    for text in texts_of({name: value for name, value in vars(module).items() if name != "__builtins__"}):
        assert set(_PLACEHOLDER.findall(text.en)) == set(_PLACEHOLDER.findall(text.zh)), text
        is_chinese = _HAN.search(text.zh) or not set(_WORD.findall(_PLACEHOLDER.sub("", text.zh))) - KNOWN_WORDS
        assert (bool(text.en.strip()), bool(text.zh.strip()), bool(is_chinese)) == (True, True, True), text


@pytest.mark.parametrize("entity", ENTITY_TYPES, ids=lambda entity: entity.name)
def test_every_field_has_label_and_help_in_both_languages(entity: EntityType) -> None:
    for given in entity.inputs():
        texts: list[Label] = [label_of(given.name, entity.name), help_of(entity.name, given)]
        if (entity.name, given.name) != ("quota", "tenant"):
            assert [text for text in texts if type(text) is str and text] == [], given.name
    for given in entity.inputs():
        if given.choices:
            assert set(given.choices) <= names.CHOICES[given.name].keys()


def test_templates_have_no_text_of_their_own_and_use_every_message() -> None:
    used: set[str] = set()
    for template in TEMPLATES.iterdir():
        source = template.read_text()
        used |= set(re.findall(r"'([a-z_]+(?:\.[a-z_]+)*)'", source))
        plain = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!doctype html>", "", source, flags=re.DOTALL)
        plain = re.sub(r'[\w-]+="[^"]*"|\brequired\b', "", plain)
        assert _WORD.findall(re.sub(r"<[^>]*>", "", plain)) == [], template.name
        assert re.findall(r'(?:aria-label|title|alt|placeholder)="[^"{]*[A-Za-z][^"]*"', source) == [], template.name
    composed = ("audit.", "page.theme.")
    assert [key for key in messages.MESSAGES if key not in used and not key.startswith(composed)] == [
        "value.none",
    ]


@pytest.mark.parametrize("change", ["load", "load (forced)"])
def test_what_a_loaded_file_changed_is_named_in_chinese(operator: Operator, data: Path, change: str) -> None:
    after = '{"tenants": {"added": 2, "changed": 0, "removed": 1}, "news": {"added": 1, "changed": 0, "removed": 0}}'
    entry = {"at": 1, "actor": "root", "change": change, "subject": "c.yaml", "before": None, "after": after}
    with write_transaction(data, "cloud") as connection:
        connection.execute(insert(operator_audit), [entry])
    text = Page(operator.client.send("GET", "/admin/audit/?subject=c.yaml", CHINESE)).text
    assert "租户：新增 2，修改 0，删除 1 公告：新增 1，修改 0，删除 0" in text

"""A NUL in an address or a form, which PostgreSQL cannot hold: on every store it is nobody's key, and no value."""

import pytest

from cloudconsole.operator.entities import ENTITY_TYPES
from tests.server.admin_ui.pages import Operator, Page
from tests.server.admin_ui.paths import POSTS
from tests.server.admin_ui.test_forms import TOKEN, token_of

NUL = "a\0b"
LISTS = [(noun.name, name) for noun in ENTITY_TYPES for name in (*noun.filters(), "after")]
ADDED = [path for path in POSTS if path.endswith("/add/")]
DONE = [path for path in POSTS if path not in (*ADDED, "/admin/sign-out/")]


@pytest.mark.parametrize(("noun", "name"), LISTS)
def test_a_list_by_it_is_empty_or_refused(operator: Operator, noun: str, name: str) -> None:
    assert operator.get(f"/admin/{noun}/?{name}=a%00b").status in (200, 422)


@pytest.mark.parametrize("name", ["actor", "change", "subject", "log=access&actor", "log=access&change"])
def test_the_trail_has_no_line_of_it(operator: Operator, name: str) -> None:
    page = operator.get(f"/admin/audit/?{name}=a%00b")
    assert (page.status, [tag for tag, _ in page.tags if tag == "td"]) == (200, [])


@pytest.mark.parametrize("noun", [noun.name for noun in ENTITY_TYPES])
def test_nothing_has_it_as_a_key(operator: Operator, noun: str) -> None:
    assert operator.get(f"/admin/{noun}/one/?key=a%00b").status == 404


@pytest.mark.parametrize("path", DONE)
def test_nothing_is_done_to_what_has_it_as_a_key(operator: Operator, path: str) -> None:
    assert operator.post(path, {TOKEN: token_of(operator), "key": NUL}).status == 404


@pytest.mark.parametrize("path", ADDED)
def test_it_is_refused_in_every_field(operator: Operator, path: str) -> None:
    form = operator.get(path).form("/add/")
    reply = operator.post(path, {**dict.fromkeys(form.fields, NUL), TOKEN: form.fields[TOKEN]})
    assert (reply.status, Page(reply).problems != []) == (422, True)

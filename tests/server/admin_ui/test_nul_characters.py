"""NUL characters in URLs and forms, which PostgreSQL cannot store: every store rejects them."""

import pytest

from cloudconsole.operator.entities import ENTITY_TYPES
from tests.server.admin_ui.pages import Operator, Page
from tests.server.admin_ui.paths import POSTS
from tests.server.admin_ui.test_forms import TOKEN, token_of

NUL = "a\0b"
LISTS = [(entity.name, name) for entity in ENTITY_TYPES for name in (*entity.filters(), "after")]
ADD_PATHS = [path for path in POSTS if path.endswith("/add/")]
ACTION_PATHS = [path for path in POSTS if path not in (*ADD_PATHS, "/admin/sign-out/")]


@pytest.mark.parametrize(("entity", "name"), LISTS)
def test_list_filtered_by_nul_is_empty_or_rejected(operator: Operator, entity: str, name: str) -> None:
    assert operator.get(f"/admin/{entity}/?{name}=a%00b").status in (200, 422)


@pytest.mark.parametrize("name", ["actor", "change", "subject", "log=access&actor", "log=access&change"])
def test_audit_log_filtered_by_nul_is_empty(operator: Operator, name: str) -> None:
    page = operator.get(f"/admin/audit/?{name}=a%00b")
    assert (page.status, [tag for tag, _ in page.tags if tag == "td"]) == (200, [])


@pytest.mark.parametrize("entity", [entity.name for entity in ENTITY_TYPES])
def test_key_with_nul_is_not_found(operator: Operator, entity: str) -> None:
    assert operator.get(f"/admin/{entity}/one/?key=a%00b").status == 404


@pytest.mark.parametrize("path", ACTION_PATHS)
def test_action_on_key_with_nul_is_not_found(operator: Operator, path: str) -> None:
    assert operator.post(path, {TOKEN: token_of(operator), "key": NUL}).status == 404


@pytest.mark.parametrize("path", ADD_PATHS)
def test_nul_is_rejected_in_every_field(operator: Operator, path: str) -> None:
    form = operator.get(path).form("/add/")
    reply = operator.post(path, {**dict.fromkeys(form.fields, NUL), TOKEN: form.fields[TOKEN]})
    assert (reply.status, Page(reply).problems != []) == (422, True)

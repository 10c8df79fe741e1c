"""Names to choose from while typing."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import insert

from cloudconsole.server.admin_ui.labels import USUAL_VALUES
from cloudconsole.spec.i18n import Text
from cloudconsole.store.tables import tenants
from tests.harness import Reply
from tests.server.admin_ui.pages import SIGN_IN, Operator
from tests.stores import write_transaction


def ask(operator: Operator, **query: str) -> Reply:
    return operator.client.send("GET", f"/admin/suggest/?{urlencode(query)}")


def names(operator: Operator, **query: str) -> list[Any]:
    return [found["name"] for found in json.loads(ask(operator, **query).body)]


@pytest.fixture
def many(data: Path) -> None:
    with write_transaction(data, "cloud") as connection:
        values = [{"name": f"tenant-{number:03}", "disabled": False} for number in range(150)]
        connection.execute(insert(tenants), [*values, {"name": "100%", "disabled": True}])


@pytest.mark.usefixtures("many")
def test_every_tenant_is_found_by_a_part_of_its_name(operator: Operator) -> None:
    assert names(operator, entity="tenant", text="NT-149") == ["tenant-149"]
    assert names(operator, entity="tenant", text="0%") == ["100%"]
    assert names(operator, entity="tenant", text="_") == []
    assert names(operator, entity="tenant", text="0%", enabled="on") == []
    assert len(names(operator, entity="tenant")) == 20


def test_names_that_begin_with_the_text_come_first(operator: Operator) -> None:
    operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="a-demo")
    assert names(operator, entity="tenant", text="dem") == ["demo", "a-demo"]


def test_flavors_have_their_sizes(operator: Operator) -> None:
    (found, *_) = json.loads(ask(operator, entity="flavor", text="2C4G").body)
    assert (found["vcpus"], found["ram"]) == (2, 4096)
    assert set(found) == {"name", "vcpus", "ram", "disk"}


def test_resource_form_offers_no_disabled_node(operator: Operator) -> None:
    operator.send(operator.get("/admin/node/disable/?key=hk-1").form("/disable/"))
    options = {page: operator.get(f"/admin/{page}/add/").html for page in ("resource", "price")}
    assert ['<option value="hk-1">' in html for html in options.values()] == [False, True]


@pytest.mark.parametrize(
    "query", [{}, {"entity": "account"}, {"entity": "tenant", "text": "x" * 256}], ids=["none", "unknown", "too long"]
)
def test_invalid_question_is_rejected(operator: Operator, query: dict[str, str]) -> None:
    assert ask(operator, **query).status == 404


def test_suggestions_need_a_session(anonymous: Operator) -> None:
    reply = ask(anonymous, entity="tenant")
    assert (reply.status, (reply.header("location") or "").startswith(SIGN_IN)) == (303, True)


def test_domain_form_suggests_the_values_that_the_tenant_console_names(operator: Operator) -> None:
    messages = files("cloudconsole").joinpath("web/console/messages/domain.js").read_text()
    named = re.findall(r'"domain.value.(serviceAreas|serviceType|status).(\w+)": { en: "(.*)", zh: "(.*)" }', messages)
    known = {(field, value): Text(en, zh) for field, value, en, zh in named}
    offered = {(each, value): name for (_, each), values in USUAL_VALUES.items() for value, name in values}
    assert offered.pop(("serviceAreas", "cn;hk;mo;ov")) == Text("Everywhere", "全球")
    assert offered == known
    assert '<option value="vod">Video on demand</option>' in operator.get("/admin/domain/add/").html

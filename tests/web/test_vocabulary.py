"""Tenant pages, operator pages, commands and glossary have the same names for the same fields."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from cloudconsole.cli.tenant import messages as commands
from cloudconsole.server.admin_ui import names
from cloudconsole.server.admin_ui.labels import label_of
from cloudconsole.server.admin_ui.messages import MESSAGES as OPERATOR_PAGES
from cloudconsole.spec.i18n import Text
from tests.web.test_messages_and_styles import MESSAGES as TENANT_PAGES

GLOSSARY: Final = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text("utf-8")
_ROW: Final = re.compile(r"^\| (\w+) \| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)

Field = tuple[str, str]
FIELDS: Final[Mapping[Field, Text]] = {(of, name): Text(en, zh) for of, name, en, zh in _ROW.findall(GLOSSARY)}


def _tenant(key: str) -> Text:
    return Text(**TENANT_PAGES[key])


def _of_operator_pages(field: Field) -> Text | str:
    of, name = field
    return {"kind": names.KINDS, "unit": names.UNITS, "quota": names.QUOTAS}.get(of, {}).get(name) or label_of(name, of)


_TENANT_KEYS: Final[Mapping[Field, str]] = {
    ("domain", "id"): "domain.domainId",
    ("domain", "name"): "domain.domainName",
    ("price", "kind"): "costs.kind",
    ("price", "node"): "costs.node",
    ("account", "username"): "signin.username",
    ("account", "password"): "signin.password",
}
_TENANT_PREFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": ("estimate.kind", "resource"),
    "unit": ("prices.unit",),
    "price": ("prices",),
    "news": (),
}
_COMMANDS: Final[Mapping[Field, Text]] = {
    **{("kind", name): text for name, text in commands.KINDS.items()},
    **{("unit", name): text for name, text in commands.PRICED_UNITS.items()},
    **{("quota", name): text for name, text in commands.QUOTAS.items()},
    ("flavor", "vcpus"): commands.CORES,
    ("flavor", "ram"): commands.RAM,
    ("flavor", "disk"): commands.SYSTEM_DISK,
    ("price", "kind"): commands.KIND,
    ("price", "unit"): commands.PRICED_UNIT,
    ("price", "type"): commands.TYPE,
    ("price", "node"): commands.NODE,
    ("price", "from"): commands.IN_FORCE_FROM,
    ("domain", "id"): commands.DOMAIN_ID,
    ("domain", "name"): commands.DOMAIN_NAME,
    ("domain", "enabled"): commands.ACCELERATION,
    ("domain", "status"): commands.STATUS,
    ("domain", "serviceAreas"): commands.SERVICE_AREAS,
    ("domain", "serviceType"): commands.SERVICE_TYPE,
    ("domain", "comment"): commands.COMMENT,
    ("domain", "originIps"): commands.ORIGIN_IPS,
    ("domain", "originDomainName"): commands.ORIGIN_NAME,
    ("domain", "advOriginConfigs"): commands.ADVANCED_ORIGIN,
    ("domain", "cacheBehaviors"): commands.CACHE_BEHAVIORS,
    ("domain", "visitControlRules"): commands.VISIT_RULES,
    ("domain", "queryStringSettings"): commands.QUERY_STRING,
    ("account", "username"): commands.USERNAME,
    ("news", "date"): commands.DATE,
    ("news", "title"): commands.TITLE,
}


def _of_tenant_pages(field: Field) -> list[Text]:
    of, name = field
    keys = [_TENANT_KEYS[field]] if field in _TENANT_KEYS else [f"{p}.{name}" for p in _TENANT_PREFIXES.get(of, (of,))]
    return [_tenant(key) for key in keys if key in TENANT_PAGES]


def _is_same(text: Text | str, name: Text) -> bool:
    """Ignore capitals and the plural, which differ between headings and sentences."""
    if not isinstance(text, Text):
        return False
    return text.zh == name.zh and text.en.casefold() in (name.en.casefold(), f"{name.en.casefold()}s")


@pytest.mark.parametrize("field", FIELDS, ids=".".join)
def test_a_field_has_one_name_in_all_interfaces(field: Field) -> None:
    texts = [*_of_tenant_pages(field), _of_operator_pages(field), *([_COMMANDS[field]] if field in _COMMANDS else [])]
    assert [text for text in texts if not _is_same(text, FIELDS[field])] == []


def test_the_glossary_has_all_fields_that_tenants_and_commands_name() -> None:
    of_domains = {key.removeprefix("domain.").removesuffix(".help") for key in TENANT_PAGES if key.endswith(".help")}
    of_domains -= {"domainId", "cname"}
    expected = {("domain", name) for name in of_domains} | (_COMMANDS.keys() - {("kind", "total")})
    expected |= {("quota", name) for name in names.QUOTAS} | {("kind", name) for name in names.KINDS}
    assert expected - FIELDS.keys() == set()


def test_states_and_audit_words_are_the_same() -> None:
    pairs = [
        (names.STATES["in force"], "prices.in_force"),
        (names.STATES["still to come"], "prices.to_come"),
        (names.STATES["enabled"], "domain.is_enabled"),
        (names.STATES["disabled"], "domain.is_disabled"),
        (OPERATOR_PAGES["value.unlimited"], "quota.unlimited"),
        (OPERATOR_PAGES["sign_in.title"], "signin.title"),
        (OPERATOR_PAGES["page.sign_out"], "signout"),
        (OPERATOR_PAGES["tenant.costs"], "costs.title"),
        (OPERATOR_PAGES["tenant.costs.unknown"], "costs.unknown"),
        (names.CHOICES["type"]["link"], "urls.link"),
        (names.CHOICES["type"]["directory"], "urls.directory"),
    ]
    assert [key for text, key in pairs if not _is_same(text, _tenant(key))] == []

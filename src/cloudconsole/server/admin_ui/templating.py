"""Jinja2 rendering, links, query strings."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from itertools import groupby
from types import CodeType
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from cloudconsole.operator.entities import ENTITY_TYPES, PRICES, EntityType
from cloudconsole.server.admin_ui.fields import local_time
from cloudconsole.server.admin_ui.labels import CURRENCY, choice_label, price_name
from cloudconsole.server.http.body import MOST_FORM_FIELDS, form_pairs
from cloudconsole.server.http.cookies import OPERATOR_PATH
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import HeaderList, Response
from cloudconsole.server.http.static import ASSETS, PAGE_POLICY
from cloudconsole.spec.text import escape, format_cell

HTML_TYPE: Final = (b"content-type", b"text/html; charset=utf-8")

AUDIT_PATH: Final = f"{OPERATOR_PATH}audit/"
SIGN_IN_PATH: Final = f"{OPERATOR_PATH}sign-in/"
SIGN_OUT_PATH: Final = f"{OPERATOR_PATH}sign-out/"


def link(path: str, /, **query: str | int | None) -> str:
    """A path below `/admin/` with a query; what is None or empty is left out."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return OPERATOR_PATH + path + ("?" + urlencode(given) if given else "")


def title_of(plural: str) -> str:
    return plural[:1].upper() + plural[1:]


class _Compiled(BytecodeCache):
    """Templates compiled once in a process, however many consoles it makes: that takes most of a console's start."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED: Final = _Compiled()


class Renderer:
    def __init__(self, zone: tzinfo, zone_name: str, currency: str) -> None:
        self._zone = zone
        self._environment = Environment(
            loader=PackageLoader("cloudconsole.server.admin_ui"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            bytecode_cache=_COMPILED,
        )
        self._environment.filters.update(cell=format_cell, moment=self.moment, visible=escape, titled=title_of)
        self._environment.filters.update(grouped=_grouped, named=self.named, worded=choice_label)
        self._environment.globals.update(
            asset=ASSETS.address,
            link=link,
            entity_types=ENTITY_TYPES,
            unit_text=lambda unit: unit.replace(CURRENCY, currency),
            zone_name=zone_name,
            paths={"audit": AUDIT_PATH, "sign_in": SIGN_IN_PATH, "sign_out": SIGN_OUT_PATH},
        )
        for name in self._environment.list_templates():
            # Read and compiled before the first call; a mistake in one is found at the start.
            self._environment.get_template(name)

    def page(
        self, template: str, request: Request, *, status: int = 200, headers: HeaderList | None = None, **values: Any
    ) -> Response:
        html = self._environment.get_template(template).render(request_id=request.request_id, **values)
        return Response(status, html.encode(), [HTML_TYPE, *(headers or [])], policy=PAGE_POLICY)

    def moment(self, text: str) -> Markup | str:
        """A record's time for people, in the console's time zone, with its offset where it has one; else it is UTC."""
        told = notice_in(self._zone, text)
        if told is None:
            return escape(text)
        return Markup('<time datetime="{}">{}</time>').format(text, told)

    def named(self, key: str, entity: EntityType) -> str:
        """What people call one: its key, but for prices, whose keys are for programs."""
        if entity is not PRICES:
            return key
        return price_name(
            key, local_time(key.split("/", 3)[2] if key.count("/") > 1 else "", self._zone).replace("T", " ")
        )


def _grouped(fields: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Fields that stand together, by what their group is called."""
    return [(group, list(members)) for group, members in groupby(fields, lambda field: field.definition.group)]


def notice_in(zone: tzinfo, text: str) -> str | None:
    """A record's time in a time zone, with its offset where it has one; None for what is no time."""
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).astimezone(zone)
    except (ValueError, OverflowError):
        return None
    offset = moment.strftime("%z")
    return f"{moment:%Y-%m-%d %H:%M:%S}" + ("" if offset == "+0000" else f" {offset[:3]}:{offset[3:5]}")


def redirect(location: str, headers: HeaderList | None = None) -> Response:
    """On to another page, to be had by GET."""
    return Response(303, headers=[(b"location", location.encode("ascii")), *(headers or [])])


LONGEST_QUERY: Final = 8192
_REPLACED: Final = str.maketrans("\0", "\ufffd")
"""No name has a NUL, and PostgreSQL cannot even be asked for one: it goes the way of bytes that are no text."""


def parse_query(request: Request) -> dict[str, str]:
    """The first fields of the query; of a repeated one the last counts, and what is no text is none."""
    query = request.query
    if len(query) > LONGEST_QUERY:
        query = query[:LONGEST_QUERY].rpartition(b"&")[0]
    fields = query.split(b"&", MOST_FORM_FIELDS)[:MOST_FORM_FIELDS]
    try:
        pairs = list(form_pairs(b"&".join(fields).decode(errors="replace").encode()))
    except ValueError:
        return {}
    return {name.decode(errors="replace"): value.decode(errors="replace").translate(_REPLACED) for name, value in pairs}


def key_of(fields: Mapping[str, str]) -> str:
    """The key of what a query or a form is about; nothing has one that is no text."""
    return fields.get("key", "").translate(_REPLACED)

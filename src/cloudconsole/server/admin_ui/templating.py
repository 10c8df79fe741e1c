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
from cloudconsole.server.http.body import MAX_FORM_FIELDS, form_pairs
from cloudconsole.server.http.cookies import OPERATOR_PATH
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import HeaderList, Response
from cloudconsole.server.http.static import ASSETS, PAGE_POLICY
from cloudconsole.spec.text_escaping import escape, format_cell

HTML: Final = b"text/html; charset=utf-8"

AUDIT_PATH: Final = f"{OPERATOR_PATH}audit/"
SIGN_IN_PATH: Final = f"{OPERATOR_PATH}sign-in/"
SIGN_OUT_PATH: Final = f"{OPERATOR_PATH}sign-out/"


def link(path: str, /, **query: str | int | None) -> str:
    """Return a path below `/admin/` with a query, without None and empty values."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return OPERATOR_PATH + path + ("?" + urlencode(given) if given else "")


def title_of(plural: str) -> str:
    return plural[:1].upper() + plural[1:]


class _Compiled(BytecodeCache):
    """Cache of compiled templates per process; compiling takes most of a console's start-up time."""

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
            # Compiled at start-up, so that mistakes are found then.
            self._environment.get_template(name)

    def page(
        self, template: str, request: Request, *, status: int = 200, headers: HeaderList | None = None, **values: Any
    ) -> Response:
        html = self._environment.get_template(template).render(request_id=request.request_id, **values)
        return Response(status, html.encode(), headers or [], HTML, PAGE_POLICY)

    def moment(self, text: str) -> Markup | str:
        """Return a record's time as a `<time>` element in the console's time zone."""
        local = notice_in(self._zone, text)
        if local is None:
            return escape(text)
        return Markup('<time datetime="{}">{}</time>').format(text, local)

    def named(self, key: str, entity: EntityType) -> str:
        """Return the display name: the key, except for prices."""
        if entity is not PRICES:
            return key
        return price_name(
            key, local_time(key.split("/", 3)[2] if key.count("/") > 1 else "", self._zone).replace("T", " ")
        )


def _grouped(fields: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Group consecutive fields by their group's name."""
    return [(group, list(members)) for group, members in groupby(fields, lambda field: field.definition.group)]


def notice_in(zone: tzinfo, text: str) -> str | None:
    """Format a record's time in a time zone, with any non-zero offset; None for other text."""
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).astimezone(zone)
    except (ValueError, OverflowError):
        return None
    offset = moment.strftime("%z")
    return f"{moment:%Y-%m-%d %H:%M:%S}" + ("" if offset == "+0000" else f" {offset[:3]}:{offset[3:5]}")


def redirect(location: str, headers: HeaderList | None = None) -> Response:
    """Redirect with 303, so that the client uses GET."""
    return Response(303, headers=[(b"location", location.encode("ascii")), *(headers or [])])


MAX_QUERY: Final = 8192
_REPLACED: Final = str.maketrans("\0", "\ufffd")
"""NUL is replaced like invalid UTF-8: no name contains it, and PostgreSQL rejects it in a query."""


def parse_query(request: Request) -> dict[str, str]:
    """Parse the first fields of the query; the last of repeated ones counts, invalid UTF-8 is replaced."""
    query = request.query
    if len(query) > MAX_QUERY:
        query = query[:MAX_QUERY].rpartition(b"&")[0]
    fields = query.split(b"&", MAX_FORM_FIELDS)[:MAX_FORM_FIELDS]
    try:
        pairs = list(form_pairs(b"&".join(fields).decode(errors="replace").encode()))
    except ValueError:
        return {}
    return {name.decode(errors="replace"): value.decode(errors="replace").translate(_REPLACED) for name, value in pairs}


def key_of(fields: Mapping[str, str]) -> str:
    """Return the entity key in a query or a form."""
    return fields.get("key", "").translate(_REPLACED)

"""Jinja2 rendering, links, query strings."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from types import CodeType
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from markupsafe import Markup

from cloudconsole.core.clock import Clock, format_utc
from cloudconsole.operator.entities import ENTITY_TYPES, PRICES, EntityType
from cloudconsole.operator.messages import with_article
from cloudconsole.server.admin_ui.fields import local_time
from cloudconsole.server.admin_ui.i18n import Label, language_of, localized, localized_text, message_markup
from cloudconsole.server.admin_ui.labels import CURRENCY, price_name
from cloudconsole.server.admin_ui.messages import MESSAGES
from cloudconsole.server.admin_ui.names import STATES, change_name, choice_name, entity_name, entity_plural, title_of
from cloudconsole.server.http.body import MAX_FORM_FIELDS, form_pairs
from cloudconsole.server.http.cookies import OPERATOR_PATH
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import HeaderList, Response
from cloudconsole.server.http.static import ASSETS, PAGE_POLICY
from cloudconsole.spec.i18n import Language, Text
from cloudconsole.spec.text_escaping import escape, format_cell

_CENT: Final = Decimal("0.01")
HTML: Final = b"text/html; charset=utf-8"

AUDIT_PATH: Final = f"{OPERATOR_PATH}audit/"
SIGN_IN_PATH: Final = f"{OPERATOR_PATH}sign-in/"
SIGN_OUT_PATH: Final = f"{OPERATOR_PATH}sign-out/"
SUGGEST_PATH: Final = f"{OPERATOR_PATH}suggest/"
LANGUAGE_PATH: Final = f"{OPERATOR_PATH}language/"


def link(path: str, /, **query: str | int | None) -> str:
    """Return a path below `/admin/` with a query, without None and empty values."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return OPERATOR_PATH + path + ("?" + urlencode(given) if given else "")


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
    """Renders templates in the language of the request.

    In a template, `{{ value }}` shows a `Text` or a `Message` in that language.
    """

    def __init__(self, zone: tzinfo, zone_name: str, currency: str, clock: Clock) -> None:
        self._zone = zone
        self._clock = clock
        self._currency = currency
        self._environment = Environment(
            loader=PackageLoader("cloudconsole.server.admin_ui"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            bytecode_cache=_COMPILED,
            finalize=_finalize,
        )
        self._environment.filters.update(
            capitalized=_capitalized,
            cell=format_cell,
            grouped=_grouped,
            message=_message,
            moment=self.moment,
            named=self._named,
            rounded=rounded_amount,
            sentence=_sentence,
            subject=self._subject,
            subject_title=self._subject_title,
            state=lambda state: STATES.get(state, state),
            text=_text,
            titled=_titled,
            unit=self._unit,
            visible=escape,
            worded=choice_name,
        )
        self._environment.globals.update(
            asset=ASSETS.address,
            change_name=change_name,
            currency=currency,
            entity_name=entity_name,
            entity_plural=entity_plural,
            entity_types=ENTITY_TYPES,
            languages={"en": "English", "zh": "中文"},
            link=link,
            list_link=list_link,
            markup=_translate_markup,
            now=lambda: self.moment(format_utc(int(clock.now()))),
            paths={"audit": AUDIT_PATH, "language": LANGUAGE_PATH, "sign_in": SIGN_IN_PATH, "sign_out": SIGN_OUT_PATH},
            t=_translate,
            with_article=_with_article,
            zone_name=zone_name,
        )
        for name in self._environment.list_templates():
            # Compiled at start-up, so that mistakes are found then.
            self._environment.get_template(name)

    def page(
        self,
        template: str,
        request: Request,
        *,
        status: int = 200,
        headers: HeaderList | None = None,
        language: Language | None = None,
        **values: Any,
    ) -> Response:
        html = self._environment.get_template(template).render(
            request_id=request.request_id,
            language=language or language_of(request),
            is_result=request.method == "POST",
            here=form_address(request),
            back=back_of(request),
            **values,
        )
        return Response(status, html.encode(), headers or [], HTML, PAGE_POLICY)

    def moment(self, text: str) -> Markup | str:
        """Return a record's time as a `<time>` element in the console's time zone."""
        local = notice_in(self._zone, text)
        if local is None:
            return escape(text)
        return Markup('<time datetime="{}">{}</time>').format(text, local)

    def named(self, key: str, entity: EntityType, language: Language) -> str:
        """Return the display name: the key, except for prices."""
        if entity is not PRICES:
            return key
        moment = local_time(key.split("/", 3)[2] if key.count("/") > 1 else "", self._zone).replace("T", " ")
        return localized_text(price_name(key, moment), language)

    @pass_context
    def _named(self, context: Context, key: str, entity: EntityType) -> str:
        return self.named(key, entity, context["language"])

    @pass_context
    def _subject(self, context: Context, entry: Mapping[str, Any]) -> Any:
        """Return the display name of what an entry of the audit log is about."""
        key, is_price = entry["subject"], entry["change"].startswith(f"{PRICES.name}.")
        return self.named(key, PRICES, context["language"]) if is_price and key is not None else key

    @pass_context
    def _subject_title(self, context: Context, entry: Mapping[str, Any]) -> Any:
        """Return the name, title or URL of what an entry is about, or else its key."""
        record = entry["after"] or entry["before"] or {}
        titles = (record.get(field) for field in ("name", "title", "url"))
        return next((title for title in titles if isinstance(title, str)), self._subject(context, entry))

    @pass_context
    def _unit(self, context: Context, unit: Label) -> str:
        return localized_text(unit, context["language"]).replace(CURRENCY, self._currency)


@pass_context
def _finalize(context: Context, value: object) -> object:
    return localized(value, context["language"])


@pass_context
def _translate(context: Context, key: str, /, **values: object) -> str:
    """Return a message, with the values in the same language."""
    language = context["language"]
    return MESSAGES[key].format_in(language, **{name: localized(each, language) for name, each in values.items()})


@pass_context
def _translate_markup(context: Context, key: str, /, **values: object) -> Markup:
    """Return a message with markup in its values; other values are escaped."""
    return Markup(MESSAGES[key].format_in(context["language"])).format(**values)  # noqa: S704 - a constant


@pass_context
def _text(context: Context, value: object) -> str:
    return localized_text(value, context["language"])


@pass_context
def _message(context: Context, value: Label) -> Markup | str:
    return message_markup(value, context["language"])


@pass_context
def _capitalized(context: Context, value: Label) -> Markup | str:
    """Return a message that begins with a capital."""
    return message_markup(value, context["language"], capitalized=True)


@pass_context
def _sentence(context: Context, value: Label) -> Markup | str:
    """Return a message with a capital and a period."""
    message = message_markup(value, context["language"], capitalized=True)
    is_complete = str(message).endswith((".", "?", "!", "。", "？", "！"))
    return message if is_complete else message + Text(".", "。").format_in(context["language"])


@pass_context
def _titled(context: Context, value: object) -> str:
    return title_of(localized_text(value, context["language"]))


@pass_context
def _with_article(context: Context, value: Label) -> str:
    """Return `a tenant`, `an account`; Chinese has no articles."""
    text = localized_text(value, context["language"])
    return with_article(text) if context["language"] == "en" else text


BACK: Final = "back"
"""Query of the list from which a page was opened, for the way back to it."""
_MAX_BACK: Final = 1000


def back_of(request: Request) -> str | None:
    """Return the query of the list to which this page leads back."""
    text = parse_query(request).get(BACK, "")
    return text if text.isascii() and text.isprintable() and " " not in text and len(text) <= _MAX_BACK else None


def list_link(entity: EntityType, back: str | None) -> str:
    return link(f"{entity.name}/") + (f"?{back}" if back else "")


def form_address(request: Request) -> str:
    """Return the address of the page that shows the form which this request has sent, or of the page itself."""
    query = f"?{request.query.decode('latin-1')}" if request.query else ""
    path = request.path.removesuffix("csv/")
    if request.method == "POST" and path.endswith("/change/"):
        path = path.removesuffix("change/") + "one/"
    return path + query


def rounded_amount(amount: str) -> str:
    """Round an exact amount to cents, a half away from zero, as the tenants' pages do."""
    return f"{Decimal(amount).quantize(_CENT, ROUND_HALF_UP):,}"


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


def redirect(location: str, headers: HeaderList | None = None, status: int = 303) -> Response:
    """Redirect; with the default status the client uses GET."""
    return Response(status, headers=[(b"location", location.encode("ascii")), *(headers or [])])


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

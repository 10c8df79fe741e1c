"""Entity types, their fields and results in the language of the output; in Chinese as in the admin UI."""

from collections.abc import Iterable, Mapping
from typing import Final

from cloudconsole.cli.i18n import current_language, translate
from cloudconsole.operator.entities import EntityType
from cloudconsole.operator.entities.base import PAST_TENSE
from cloudconsole.server.admin_ui import names
from cloudconsole.server.admin_ui.labels import label_of
from cloudconsole.server.commands.admin import messages
from cloudconsole.server.commands.i18n import localized
from cloudconsole.spec.i18n import Text

PAST: Final[Mapping[str, Text]] = {verb: Text(past, names.DONE[verb].zh) for verb, past in PAST_TENSE.items()}


def entity_name(entity: EntityType) -> str:
    return entity.name if current_language() == "en" else translate(names.entity_name(entity))


def entity_plural(entity: EntityType) -> str:
    return entity.plural if current_language() == "en" else translate(names.entity_plural(entity))


def headings_of(entity: EntityType, fields: Iterable[str]) -> dict[str, str]:
    """Return the headings of fields; in English their names, as in flags and in a cloud file."""
    return {name: name if current_language() == "en" else localized(label_of(name, entity.name)) for name in fields}


def result(entity: EntityType, key: str, text: Text | str) -> str:
    return translate(messages.RESULT, entity=entity_name(entity), key=key, result=localized(text))

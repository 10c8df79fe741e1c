"""News as tenants will see them, before they are saved: made for a trial, and undone."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from cloudconsole.operator.entities import NEWS, Done, Noun
from cloudconsole.operator.serializers import Record
from cloudconsole.operator.transaction import Desk
from cloudconsole.server.operator_pages.office import Office
from cloudconsole.store.sessions import Session


class Preview(NamedTuple):
    date: str
    """As tenants read it."""
    title: str
    url: str
    is_upcoming: bool

    @classmethod
    def of(cls, record: Record, office: Office) -> "Preview":
        moment = datetime.strptime(record["date"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        told = f"{moment.astimezone(office.zone):%Y-%m-%d %H:%M:%S}"
        return cls(told, record["title"], record["url"], moment.timestamp() > office.now())


def is_preview(noun: Noun, fields: Mapping[str, str]) -> bool:
    return noun is NEWS and "preview" in fields


class _Undo(Exception):
    pass


def tried(office: Office, who: Session, work: Callable[[Desk], Done]) -> Done:
    """What a change would do; nothing is changed."""
    found: list[Done] = []
    try:
        with office.writing(who) as desk:
            found.append(work(desk))
            raise _Undo
    except _Undo:
        return found[0]

"""What is read of Keystone's answers; whatever else is in them does not matter, and what is missing is nonsense."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,128}\Z")]
"""As it can stand in an address."""
Name = Annotated[str, Meta(min_length=1)]


class Domain(Struct):
    id: Id


class User(Struct):
    id: Id
    name: Name
    domain: Domain


class Project(Struct):
    id: Id
    name: Name
    enabled: bool = True
    is_domain: bool = False
    domain_id: Id | None = None


class Token(Struct):
    user: User
    expires_at: Annotated[datetime, Meta(tz=True)]
    project: Project | None = None
    """None where it is good for no project."""
    catalog: list[Any] = []


class Authenticated(Struct):
    token: Token


class OwnProjects(Struct):
    projects: list[Project]


class Told(Struct):
    code: int


class Refusal(Struct):
    """Keystone's own no, and not that of something in front of it."""

    error: Told

"""All paths of the admin UI, derived from the entity types; a test checks that the lists are complete."""

from typing import Final

from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES
from cloudconsole.server.commands.admin.accounts import VERBS

_VERBS: Final = {
    entity.name: [
        verb for verb in (*entity.verbs, *(VERBS if entity is ACCOUNTS else ())) if verb not in ("show", "list")
    ]
    for entity in ENTITY_TYPES
}

POSTS: Final = [f"/admin/{name}/{verb}/" for name, verbs in _VERBS.items() for verb in verbs] + ["/admin/sign-out/"]
"""Paths that change something, except the sign-in."""

GETS: Final = [
    "/admin/",
    "/admin/audit/",
    *(f"/admin/{entity.name}/" for entity in ENTITY_TYPES),
    *(f"/admin/{entity.name}/one/" for entity in ENTITY_TYPES),
    *(path for path in POSTS if not path.endswith(("/change/", "/sign-out/"))),
]
"""Paths that show something, except the sign-in."""

"""Every path of the pages, as the table of nouns makes them; that there are no others, a test says."""

from typing import Final

from cloudconsole.operator.entities import ACCOUNTS, ENTITY_TYPES
from cloudconsole.server.commands.admin.accounts import VERBS

_VERBS: Final = {
    noun.name: [verb for verb in (*noun.verbs, *(VERBS if noun is ACCOUNTS else ())) if verb not in ("show", "list")]
    for noun in ENTITY_TYPES
}

POSTS: Final = [f"/admin/{name}/{verb}/" for name, verbs in _VERBS.items() for verb in verbs] + ["/admin/sign-out/"]
"""All that change something, but for the sign-in."""

GETS: Final = [
    "/admin/",
    "/admin/audit/",
    *(f"/admin/{noun.name}/" for noun in ENTITY_TYPES),
    *(f"/admin/{noun.name}/one/" for noun in ENTITY_TYPES),
    *(path for path in POSTS if not path.endswith(("/change/", "/sign-out/"))),
]
"""All that show something, but for the sign-in."""

"""Sessions that an identity endpoint behind us vouches for: what they have that an account's sessions have not."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from cloudconsole.core.ports import Access, Guest, Services

# They hang on no account; an operator ends them by disabling the tenant, for good, or by giving its project away.
LIVE_GUESTS: Final = """
    sessions
    JOIN guest_sessions AS guest ON guest.id_hash = sessions.id_hash
    JOIN tenants ON tenants.id = guest.tenant_id AND tenants.guests_ended_at < guest.opened_at
        AND tenants.project = guest.project_id || '@' || guest.endpoint
    WHERE NOT tenants.disabled
"""

# A cross join, because SQLite then starts from the tenants, of which few meet the first condition.
ENDED_GUESTS: Final = """
    SELECT guest.id_hash FROM tenants CROSS JOIN guest_sessions AS guest
    WHERE (tenants.disabled OR tenants.guests_ended_at > :since) AND guest.tenant_id = tenants.id
        AND (tenants.disabled OR tenants.guests_ended_at >= guest.opened_at) AND guest.endpoint = :endpoint
    LIMIT :limit
"""
"""Sessions that an operator ended so, since then; their rows stay until their tokens are revoked or they expire."""

FIND_GUEST: Final = f"""
    SELECT guest.tenant_id, guest.username, sessions.csrf_seed, sessions.seen_at, sessions.expires_at, 'tenant', 0,
           guest.endpoint, guest.user_id, guest.project_id, guest.services, guest.sealed_token
    FROM {LIVE_GUESTS} AND sessions.id_hash = :id_hash
"""


def access_of(columns: Sequence[Any]) -> Access:
    """From the last five that `FIND_GUEST` gives."""
    endpoint, user_id, project_id, services, sealed_token = columns
    return Access(endpoint, user_id, project_id, msgspec.json.decode(services, type=Services), sealed_token)


def guest_row(id_hash: bytes, guest: Guest, now: int) -> dict[str, Any]:
    access = guest.access
    return {
        "id_hash": id_hash,
        "tenant_id": guest.tenant_id,
        "username": guest.username,
        "opened_at": now,
        "endpoint": access.endpoint,
        "user_id": access.user_id,
        "project_id": access.project_id,
        "services": msgspec.json.encode(access.services).decode(),
        "sealed_token": access.sealed_token,
    }

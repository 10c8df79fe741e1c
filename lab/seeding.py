"""Tenants, users and what they have, so that every test finds a cloud that is in use; doing it twice changes nothing.

Each region has other things of the same tenant: a sum over regions that forgets one of them is wrong.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openstack.connection import Connection

from lab import databases, resources
from lab.cloud import connect, identity_of
from lab.plan import ADMIN_PASSWORD, Plan

Say = Callable[[str], None]
ADMIN: dict[str, Any] = {"password": ADMIN_PASSWORD, "project": "admin"}

# The projects of each user, the first being the one that tests connect to, and whether that is his default project.
USERS: dict[str, tuple[tuple[str, ...], bool]] = {
    "alice": (("acme",), True),
    "bob": (("globex",), True),
    "carol": (("acme",), False),
    "dave": (("acme", "globex"), False),
    "erin": ((), False),
    "frank": (("acme",), True),
    "mallory": (("acme",), True),
}
DISABLED = "frank"
EXPIRED = "mallory"


def unseeded() -> dict[str, dict[str, Any]]:
    """The users of a cloud without tenants, as a lab's state tells them."""
    return {"admin": ADMIN}


def seed(plan: Plan, say: Say) -> dict[str, dict[str, Any]]:
    """Make sure that all of it is there; the answer is the users, as a lab's state tells them."""
    with connect(plan.identity, "admin", ADMIN_PASSWORD, "admin", plan.regions[0]) as admin:
        _seed_identity(admin)
    databases.execute(plan, _expire(EXPIRED))
    say("users and projects are there")
    with ThreadPoolExecutor(len(plan.regions)) as threads:
        list(threads.map(lambda region: _seed_region(plan, region), plan.regions))
    say("each region has something of each tenant")
    projects = {name: theirs[0] if theirs else None for name, (theirs, _) in USERS.items()}
    return unseeded() | {name: {"password": password(name), "project": project} for name, project in projects.items()}


def password(user: str) -> str:
    return f"{user}-password"


def _seed_identity(admin: Connection) -> None:
    identity = identity_of(admin)
    member = identity.find_role("member", ignore_missing=False)
    projects = {
        name: identity.find_project(name) or identity.create_project(name=name, domain_id="default")
        for name in ("acme", "globex")
    }
    for name, (theirs, is_default) in USERS.items():
        user = identity.find_user(name)
        if user is None:
            given = {"default_project_id": projects[theirs[0]].id} if is_default else {}
            user = identity.create_user(
                name=name, password=password(name), domain_id="default", is_enabled=name != DISABLED, **given
            )
        for project in theirs:
            identity.assign_project_role_to_user(projects[project], user, member)


def _expire(user: str) -> bytes:
    """Keystone takes no date in the past: so it is told behind its back."""
    return f"""
        UPDATE keystone.password SET expires_at = '2020-01-01 00:00:00', expires_at_int = 1577836800000000
        WHERE local_user_id IN (SELECT id FROM keystone.local_user WHERE name = '{user}');
    """.encode()


def _seed_region(plan: Plan, region: str) -> None:
    first = region == plan.regions[0]

    def as_user(name: str, secret: str, project: str) -> Connection:
        return connect(plan.identity, name, secret, project, region)

    with (
        as_user("admin", ADMIN_PASSWORD, "admin") as admin,
        as_user("alice", password("alice"), "acme") as acme,
        as_user("bob", password("bob"), "globex") as globex,
    ):
        resources.offer(admin, first)
        resources.use(acme, first)
        resources.use_little(globex, first)

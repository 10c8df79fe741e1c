"""How sessions end that a Keystone vouches for: by its word alone, in the time set, and each by itself.

Users and projects are of the tests' own making, so that nobody else's session ends with theirs.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from lab.cloud import User, identity_of
from openstack.connection import Connection
from openstack.identity.v3._proxy import Proxy as Identity

from cloudconsole.backends.openstack.token_encryption import CHECK_SECONDS
from tests.harness import RunningServer, running_server
from tests.openstack.conftest import Serve
from tests.openstack.guests import Guest
from tests.openstack.operating import operate
from tests.openstack.residents import Registry, until
from tests.openstack.sessions import is_good, sessions_of

pytestmark = pytest.mark.xdist_group("endings")

Visit = Callable[..., Guest]


class Newcomer(NamedTuple):
    """Somebody whom no other test knows, with one project and one role in it, and the operator's hold on them."""

    who: User
    registry: Registry
    project: Any

    @property
    def identity(self) -> Identity:
        return identity_of(self.registry.admin)

    @property
    def account(self) -> Any:
        return self.identity.find_user(self.who.name, ignore_missing=False)

    def disable(self) -> None:
        self.identity.update_user(self.account, is_enabled=False)

    def delete(self) -> None:
        self.identity.delete_user(self.account, ignore_missing=False)

    def get_password(self) -> None:
        self.identity.update_user(self.account, password="another-password")

    def change_password(self) -> None:
        with self.registry.connect(self.who, self.registry.lab.regions[0]) as own:
            change = {"original_password": self.who.password, "password": "another-password"}
            reply = own.identity.post(f"/users/{own.current_user_id}/password", json={"user": change})
            assert reply.status_code == 204, reply.text

    def lose_role(self) -> None:
        role = self.identity.find_role("member", ignore_missing=False)
        self.identity.unassign_project_role_from_user(self.project, self.account, role)

    def lose_project(self) -> None:
        self.identity.delete_project(self.project, ignore_missing=False)

    def close_project(self) -> None:
        self.identity.update_project(self.project, is_enabled=False)


@pytest.fixture
def newcomer(registry: Registry) -> Newcomer:
    project = registry.project()
    return Newcomer(registry.user(project, default=project), registry, project)


@pytest.fixture(scope="module")
def wary(serve: Serve) -> RunningServer:
    """A console that asks Keystone on every call."""
    return serve(identity_recheck=0)


def token_of(console: RunningServer, newcomer: Newcomer) -> str:
    (session,) = sessions_of(console, newcomer.who.name)
    return session.token


def revoke(admin: Connection, token: str) -> None:
    reply = admin.identity.delete("/auth/tokens", headers={"X-Subject-Token": token})
    assert reply.status_code == 204, reply.text


@pytest.mark.parametrize(
    "ending",
    [
        Newcomer.disable,
        Newcomer.delete,
        Newcomer.get_password,
        Newcomer.change_password,
        Newcomer.lose_role,
        Newcomer.lose_project,
        Newcomer.close_project,
    ],
)
def test_what_makes_a_token_worthless_ends_the_session_at_the_next_call(
    ending: Callable[[Newcomer], None], newcomer: Newcomer, wary: RunningServer, visit: Visit
) -> None:
    guest = visit(wary).enter(newcomer.who)
    assert guest.call("GetNews").status == 200
    ending(newcomer)
    reply = guest.call("GetNews")
    assert (reply.status, reply.error) == (401, "login_required")
    assert not sessions_of(wary, newcomer.who.name)


def test_a_revoked_token_ends_its_session_and_no_other_of_the_same_user(
    newcomer: Newcomer, wary: RunningServer, visit: Visit, admin: Connection
) -> None:
    first = visit(wary).enter(newcomer.who)
    token = token_of(wary, newcomer)
    second = visit(wary).enter(newcomer.who)
    revoke(admin, token)
    assert first.call("GetNews").error == "login_required"
    assert second.call("GetUsageLimits").status == 200


def test_a_logout_makes_its_token_worthless_and_no_other_of_the_same_user(
    newcomer: Newcomer, wary: RunningServer, visit: Visit, admin: Connection
) -> None:
    first = visit(wary).enter(newcomer.who)
    token = token_of(wary, newcomer)
    second = visit(wary).enter(newcomer.who)
    assert first.logout().status == 200
    assert not is_good(admin, token)
    assert second.call("GetUsageLimits").status == 200


def test_a_login_makes_the_token_of_the_session_before_worthless(
    newcomer: Newcomer, wary: RunningServer, visit: Visit, admin: Connection
) -> None:
    guest = visit(wary).enter(newcomer.who)
    token = token_of(wary, newcomer)
    guest.enter(newcomer.who)
    assert until(lambda: not is_good(admin, token))
    assert is_good(admin, token_of(wary, newcomer))
    assert guest.call("GetUsageLimits").status == 200


def test_disabling_a_tenant_makes_the_tokens_of_its_sessions_worthless(
    newcomer: Newcomer, wary: RunningServer, visit: Visit, admin: Connection
) -> None:
    visit(wary).enter(newcomer.who)
    token = token_of(wary, newcomer)
    operate(wary, "tenant", "disable", newcomer.project.name)
    assert until(lambda: not is_good(admin, token))
    assert not sessions_of(wary, newcomer.who.name)


def test_a_session_ends_at_the_latest_after_the_time_set(
    newcomer: Newcomer, serve: Serve, visit: Visit, admin: Connection
) -> None:
    seconds = 2
    console = serve(identity_recheck=seconds)
    guest = visit(console).enter(newcomer.who)
    revoke(admin, token_of(console, newcomer))
    time.sleep(seconds)
    assert guest.call("GetNews").error == "login_required"


def test_a_service_that_refuses_the_token_ends_the_session_before_that_time(
    newcomer: Newcomer, serve: Serve, visit: Visit, admin: Connection
) -> None:
    console = serve(identity_recheck=3600, cloud_cache=0, flavor_cache=0)
    guest = visit(console).enter(newcomer.who)
    revoke(admin, token_of(console, newcomer))
    assert guest.call("GetNews").status == 200
    # None of the services has seen the token: so none has it in its memory as a good one.
    assert guest.call("GetFlavors").error == "login_required"
    assert guest.call("GetNews").error == "login_required"


def test_sessions_outlive_new_token_keys_once_and_end_with_the_second(
    newcomer: Newcomer, wary: RunningServer, visit: Visit
) -> None:
    older = visit(wary).enter(newcomer.who)
    operate(wary, "token-keys", "rotate")
    time.sleep(CHECK_SECONDS)
    newer = visit(wary).enter(newcomer.who)
    assert (older.call("GetUsageLimits").status, newer.call("GetUsageLimits").status) == (200, 200)
    operate(wary, "token-keys", "rotate")
    time.sleep(CHECK_SECONDS)
    assert older.call("GetUsageLimits").error == "login_required"
    assert newer.call("GetUsageLimits").status == 200


def test_sessions_outlive_the_console(newcomer: Newcomer, serve: Serve, visit: Visit, admin: Connection) -> None:
    console = serve()
    folder = console.log_file.parent
    before = visit(console).enter(newcomer.who)
    token = token_of(console, newcomer)
    assert console.stop() == 0
    with running_server(folder, "--config", str(folder / "cloudconsole.toml"), sample=False) as again:
        after = visit(again)
        after.cookies = before.cookies
        assert after.call("GetUsageLimits").status == 200
        assert after.logout().status == 200
    assert until(lambda: not is_good(admin, token))

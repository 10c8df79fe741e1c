"""How federated sessions end: when Keystone rejects their token, within the time set, and each separately.

The tests create their own users and projects, so that they end no session of other tests.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from lab.cloud import User, identity_of
from openstack.connection import Connection
from openstack.identity.v3._proxy import Proxy as Identity

from cloudconsole.backends.openstack.token_encryption_and_keys import CHECK_SECONDS
from tests.harness import RunningServer, running_server
from tests.openstack.conftest import Serve
from tests.openstack.federated_client import FederatedClient
from tests.openstack.operator_cli import run_admin
from tests.openstack.sessions import is_valid, sessions_of
from tests.openstack.tenants import TenantFactory, wait_until

pytestmark = pytest.mark.xdist_group("session_end")

NewClient = Callable[..., FederatedClient]


class NewUser(NamedTuple):
    """A user of this test only, with one role in one project, and the changes that end their sessions."""

    user: User
    factory: TenantFactory
    project: Any

    @property
    def identity(self) -> Identity:
        return identity_of(self.factory.admin)

    @property
    def account(self) -> Any:
        return self.identity.find_user(self.user.name, ignore_missing=False)

    def disable(self) -> None:
        self.identity.update_user(self.account, is_enabled=False)

    def delete(self) -> None:
        self.identity.delete_user(self.account, ignore_missing=False)

    def reset_password(self) -> None:
        self.identity.update_user(self.account, password="another-password")

    def change_password(self) -> None:
        with self.factory.connect(self.user, self.factory.lab.regions[0]) as own:
            change = {"original_password": self.user.password, "password": "another-password"}
            reply = own.identity.post(f"/users/{own.current_user_id}/password", json={"user": change})
            assert reply.status_code == 204, reply.text

    def remove_role(self) -> None:
        role = self.identity.find_role("member", ignore_missing=False)
        self.identity.unassign_project_role_from_user(self.project, self.account, role)

    def delete_project(self) -> None:
        self.identity.delete_project(self.project, ignore_missing=False)

    def disable_project(self) -> None:
        self.identity.update_project(self.project, is_enabled=False)


@pytest.fixture
def new_user(factory: TenantFactory) -> NewUser:
    project = factory.project()
    return NewUser(factory.user(project, default=project), factory, project)


@pytest.fixture(scope="module")
def revalidating_console(serve: Serve) -> RunningServer:
    """Start a console that revalidates the token on every request."""
    return serve(identity_recheck=0)


def token_of(console: RunningServer, new_user: NewUser) -> str:
    (session,) = sessions_of(console, new_user.user.name)
    return session.token


def revoke(admin: Connection, token: str) -> None:
    reply = admin.identity.delete("/auth/tokens", headers={"X-Subject-Token": token})
    assert reply.status_code == 204, reply.text


@pytest.mark.parametrize(
    "invalidate_token",
    [
        NewUser.disable,
        NewUser.delete,
        NewUser.reset_password,
        NewUser.change_password,
        NewUser.remove_role,
        NewUser.delete_project,
        NewUser.disable_project,
    ],
)
def test_session_ends_when_its_token_becomes_invalid(
    invalidate_token: Callable[[NewUser], None],
    new_user: NewUser,
    revalidating_console: RunningServer,
    new_client: NewClient,
) -> None:
    client = new_client(revalidating_console).log_in_as(new_user.user)
    assert client.call("GetNews").status == 200
    invalidate_token(new_user)
    reply = client.call("GetNews")
    assert (reply.status, reply.error) == (401, "login_required")
    assert not sessions_of(revalidating_console, new_user.user.name)


def test_revoked_token_ends_only_its_own_session(
    new_user: NewUser, revalidating_console: RunningServer, new_client: NewClient, admin: Connection
) -> None:
    first = new_client(revalidating_console).log_in_as(new_user.user)
    token = token_of(revalidating_console, new_user)
    second = new_client(revalidating_console).log_in_as(new_user.user)
    revoke(admin, token)
    assert first.call("GetNews").error == "login_required"
    assert second.call("GetUsageLimits").status == 200


def test_logout_revokes_only_its_own_token(
    new_user: NewUser, revalidating_console: RunningServer, new_client: NewClient, admin: Connection
) -> None:
    first = new_client(revalidating_console).log_in_as(new_user.user)
    token = token_of(revalidating_console, new_user)
    second = new_client(revalidating_console).log_in_as(new_user.user)
    assert first.logout().status == 200
    assert not is_valid(admin, token)
    assert second.call("GetUsageLimits").status == 200


def test_new_login_revokes_the_previous_sessions_token(
    new_user: NewUser, revalidating_console: RunningServer, new_client: NewClient, admin: Connection
) -> None:
    client = new_client(revalidating_console).log_in_as(new_user.user)
    token = token_of(revalidating_console, new_user)
    client.log_in_as(new_user.user)
    assert wait_until(lambda: not is_valid(admin, token))
    assert is_valid(admin, token_of(revalidating_console, new_user))
    assert client.call("GetUsageLimits").status == 200


def test_disabling_a_tenant_revokes_its_tokens(
    new_user: NewUser, revalidating_console: RunningServer, new_client: NewClient, admin: Connection
) -> None:
    new_client(revalidating_console).log_in_as(new_user.user)
    token = token_of(revalidating_console, new_user)
    run_admin(revalidating_console, "tenant", "disable", new_user.project.name)
    assert wait_until(lambda: not is_valid(admin, token))
    assert not sessions_of(revalidating_console, new_user.user.name)


def test_session_ends_within_the_recheck_interval(
    new_user: NewUser, serve: Serve, new_client: NewClient, admin: Connection
) -> None:
    seconds = 2
    console = serve(identity_recheck=seconds)
    client = new_client(console).log_in_as(new_user.user)
    revoke(admin, token_of(console, new_user))
    time.sleep(seconds)
    assert client.call("GetNews").error == "login_required"


def test_session_ends_when_a_service_rejects_its_token(
    new_user: NewUser, serve: Serve, new_client: NewClient, admin: Connection
) -> None:
    console = serve(identity_recheck=3600, cloud_cache=0, flavor_cache=0)
    client = new_client(console).log_in_as(new_user.user)
    revoke(admin, token_of(console, new_user))
    assert client.call("GetNews").status == 200
    # No service has seen the token, so none has cached it as valid.
    assert client.call("GetFlavors").error == "login_required"
    assert client.call("GetNews").error == "login_required"


def test_sessions_survive_one_key_rotation_but_not_two(
    new_user: NewUser, revalidating_console: RunningServer, new_client: NewClient
) -> None:
    older = new_client(revalidating_console).log_in_as(new_user.user)
    run_admin(revalidating_console, "token-keys", "rotate")
    time.sleep(CHECK_SECONDS)
    newer = new_client(revalidating_console).log_in_as(new_user.user)
    assert (older.call("GetUsageLimits").status, newer.call("GetUsageLimits").status) == (200, 200)
    run_admin(revalidating_console, "token-keys", "rotate")
    time.sleep(CHECK_SECONDS)
    assert older.call("GetUsageLimits").error == "login_required"
    assert newer.call("GetUsageLimits").status == 200


def test_sessions_survive_a_restart(new_user: NewUser, serve: Serve, new_client: NewClient, admin: Connection) -> None:
    console = serve()
    directory = console.log_file.parent
    before = new_client(console).log_in_as(new_user.user)
    token = token_of(console, new_user)
    assert console.stop() == 0
    with running_server(directory, "--config", str(directory / "cloudconsole.toml"), sample=False) as again:
        after = new_client(again)
        after.cookies = before.cookies
        assert after.call("GetUsageLimits").status == 200
        assert after.logout().status == 200
    assert wait_until(lambda: not is_valid(admin, token))

"""How federated sessions end: when Keystone or a service rejects their token, and each separately.

The tests create their own users and projects, so that they end no session of other tests.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from lab.cloud import User, identity_of
from openstack.connection import Connection
from openstack.identity.v3._proxy import Proxy as Identity

from tests.harness import RunningServer, running_server
from tests.openstack.conftest import Serve
from tests.openstack.federated_client import FederatedClient
from tests.openstack.sessions import is_valid, sessions_of
from tests.openstack.tenants import TenantFactory, wait_until

pytestmark = pytest.mark.xdist_group("session_end")

NewClient = Callable[..., FederatedClient]


class NewUser(NamedTuple):
    """A user of this test only, with one role in one project."""

    user: User
    factory: TenantFactory
    project: Any

    @property
    def identity(self) -> Identity:
        return identity_of(self.factory.admin)

    @property
    def account(self) -> Any:
        return self.identity.find_user(self.user.name, ignore_missing=False)

    def change_password(self) -> None:
        with self.factory.connect(self.user, self.factory.lab.regions[0]) as own:
            change = {"original_password": self.user.password, "password": "another-password"}
            reply = own.identity.post(f"/users/{own.current_user_id}/password", json={"user": change})
            assert reply.status_code == 204, reply.text

    def remove_role(self) -> None:
        role = self.identity.find_role("member", ignore_missing=False)
        self.identity.unassign_project_role_from_user(self.project, self.account, role)


INVALIDATING: dict[str, Callable[[NewUser], object]] = {
    "user disabled": lambda new: new.identity.update_user(new.account, is_enabled=False),
    "user deleted": lambda new: new.identity.delete_user(new.account, ignore_missing=False),
    "password reset": lambda new: new.identity.update_user(new.account, password="another-password"),
    "password changed": NewUser.change_password,
    "role removed": NewUser.remove_role,
    "project deleted": lambda new: new.identity.delete_project(new.project, ignore_missing=False),
    "project disabled": lambda new: new.identity.update_project(new.project, is_enabled=False),
}


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


@pytest.mark.parametrize("invalidate_token", INVALIDATING.values(), ids=INVALIDATING)
def test_session_ends_when_its_token_becomes_invalid(
    invalidate_token: Callable[[NewUser], object],
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


@pytest.mark.parametrize("ends_by", ["revocation", "logout"])
def test_only_the_session_of_a_revoked_token_ends(
    new_user: NewUser, revalidating_console: RunningServer, new_client: NewClient, admin: Connection, ends_by: str
) -> None:
    first = new_client(revalidating_console).log_in_as(new_user.user)
    token = token_of(revalidating_console, new_user)
    second = new_client(revalidating_console).log_in_as(new_user.user)
    if ends_by == "revocation":
        revoke(admin, token)
    else:
        assert first.logout().status == 200
        assert not is_valid(admin, token)
    assert first.call("GetNews").error == "login_required"
    assert second.call("GetUsageLimits").status == 200


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

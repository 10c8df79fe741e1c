"""Federated sessions: which credentials Keystone accepts, for which project, and how sessions end, each separately.

Tests that end sessions create their own users and projects, so that they end no session of other tests.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from lab.cloud import Lab, User, identity_of
from openstack.identity.v3._proxy import Proxy as Identity

from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher
from tests.harness import Reply, RunningServer, running_server
from tests.openstack.conftest import NewClient, Serve
from tests.openstack.reference import Connection
from tests.openstack.tenants import TenantFactory, unique_name, wait_until

pytestmark = pytest.mark.xdist_group("sessions")


class StoredSession(NamedTuple):
    project_id: str
    token: str


def sessions_of(console: RunningServer, username: str) -> list[StoredSession]:
    """Return the open sessions of a user, with their tokens decrypted."""
    data = console.log_file.parent / "data"
    query = "SELECT project_id, sealed_token FROM guest_sessions WHERE username = ?"
    with closing(sqlite3.connect(f"file:{data / 'activity.db'}?mode=ro", uri=True)) as store:
        rows = store.execute(query, (username,)).fetchall()
    cipher = TokenCipher(data / "token-keys")
    return [StoredSession(project, cipher.decrypt(encrypted) or "") for project, encrypted in rows]


def is_valid(admin: Connection, token: str) -> bool:
    """Return whether Keystone accepts a token."""
    response = admin.identity.get("/auth/tokens", headers={"X-Subject-Token": token})
    assert response.status_code in (200, 404), response.text
    return bool(response.status_code == 200)


def is_rejected(reply: Reply) -> bool:
    """Return whether a login was rejected, with the same message for every cause."""
    rejection = (reply.status, reply.error, reply.envelope["message"])
    return rejection == (401, "invalid_credentials", "The username or password is wrong, or the account is disabled.")


@pytest.fixture(scope="module")
def globex_console(serve: Serve) -> RunningServer:
    """Start a console with a project configured for users who have several."""
    return serve('project = "globex"')


@pytest.fixture(scope="module")
def other_domain(admin: Connection) -> Iterator[Any]:
    """Create another domain."""
    domain = admin.identity.create_domain(name=unique_name("domain"))
    yield domain
    # This deletes everything in it.
    admin.identity.update_domain(domain, is_enabled=False)
    admin.identity.delete_domain(domain)


# Credentials


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("carol", "wrong-password"),
        ("nobody", "carol-password"),
        ("frank", "frank-password"),
        ("mallory", "mallory-password"),
        ("erin", "wrong-password"),
    ],
    ids=["wrong password", "unknown user", "disabled user", "expired password", "no project"],
)
def test_wrong_credentials_get_the_same_message(new_client: NewClient, username: str, password: str) -> None:
    assert is_rejected(new_client().try_login_as(username, password))


def test_only_users_of_the_configured_domain_can_log_in(
    serve: Serve, new_client: NewClient, factory: TenantFactory, other_domain: Any
) -> None:
    project = factory.project()
    user = factory.user(project, domain_id=other_domain.id, default=project)
    assert is_rejected(new_client().try_login_as(user))
    console = serve(f'user_domain = "{other_domain.name}"')
    assert new_client(console).try_login_as(user).status == 200
    assert is_rejected(new_client(console).try_login_as("alice"))


def test_users_of_the_same_name_in_two_domains_have_sessions_of_their_own(
    serve: Serve, new_client: NewClient, factory: TenantFactory, other_domain: Any, admin: Connection
) -> None:
    first, second = factory.project(), factory.project()
    user = factory.user(first, default=first)
    namesake = factory.user(second, name=user.name, domain_id=other_domain.id, default=second)
    console = serve(f'user_domains = ["{other_domain.name}"]')
    assert new_client(console).try_login_as(user).status == 200
    by_field = new_client(console)
    assert by_field.try_login_as(namesake, user_domain=other_domain.name).status == 200
    by_name = new_client(console)
    assert by_name.try_login_as(replace(namesake, name=f"{user.name}@{other_domain.name}")).status == 200
    assert is_rejected(new_client(console).try_login_as(user, namesake.password))
    assert project_of(console, admin, user.name) == first.name
    assert project_of(console, admin, f"{user.name}@{other_domain.name}") == second.name
    assert len(sessions_of(console, f"{user.name}@{other_domain.name}")) == 2


def test_application_credential_logs_in_to_its_project(
    console: RunningServer, new_client: NewClient, factory: TenantFactory, admin: Connection, lab: Lab
) -> None:
    first, second = factory.project(), factory.project()
    user = factory.user(first, second, default=first)
    with closing(factory.connect(replace(user, project=second.name), lab.regions[0])) as cloud:
        credential = cloud.identity.create_application_credential(
            user=cloud.current_user_id, name="console", roles=[{"name": "reader"}]
        )
        name = f"application_credential:{credential.id}"
        assert is_rejected(new_client().try_login_as(name, user.password))
        client = new_client()
        assert client.try_login_as(name, credential.secret).status == 200
        assert client.call("GetUsageLimits").status == 200
        assert project_of(console, admin, user.name) == second.name
        cloud.identity.delete_application_credential(cloud.current_user_id, credential)
        assert is_rejected(new_client().try_login_as(name, credential.secret))


# Projects


def project_of(console: RunningServer, admin: Connection, username: str) -> str:
    session = sessions_of(console, username)[-1]
    return str(admin.identity.get_project(session.project_id).name)


def test_default_project_is_used_if_the_user_has_a_role_in_it(
    console: RunningServer, new_client: NewClient, factory: TenantFactory, admin: Connection
) -> None:
    first, second, foreign = (factory.project() for _ in range(3))
    user, outsider = factory.user(first, second, default=second), factory.user(first, default=foreign)
    for each in (user, outsider):
        new_client().log_in_as(each)
    assert project_of(console, admin, user.name) == second.name
    assert project_of(console, admin, outsider.name) == first.name


@pytest.mark.parametrize(("username", "project"), [("dave", "globex"), ("carol", "acme")])
def test_configured_project_is_used_only_if_the_user_has_several(
    globex_console: RunningServer, new_client: NewClient, admin: Connection, username: str, project: str
) -> None:
    new_client(globex_console).log_in_as(username)
    assert project_of(globex_console, admin, username) == project


def test_project_is_not_guessed(new_client: NewClient) -> None:
    reply = new_client().try_login_as("dave")
    assert (reply.status, reply.error) == (403, "project_required")
    assert "acme, globex" in reply.envelope["message"]
    assert new_client().try_login_as("erin").error == "no_project"


def test_project_can_be_chosen(
    console: RunningServer, new_client: NewClient, factory: TenantFactory, admin: Connection
) -> None:
    first, second, third, foreign = (factory.project() for _ in range(4))
    user = factory.user(first, second, third, default=first)
    for project in (second.name, third.id):
        assert new_client().try_login_as(user, project=project).status == 200
    assert [admin.identity.get_project(session.project_id).name for session in sessions_of(console, user.name)] == [
        second.name,
        third.name,
    ]
    for project in (foreign.name, foreign.id, "nothing"):
        reply = new_client().try_login_as(user, project=project)
        assert (reply.status, reply.error) == (403, "project_required")


def test_disabled_project_is_not_usable(new_client: NewClient, factory: TenantFactory, admin: Connection) -> None:
    project = factory.project()
    user = factory.user(project, default=project)
    admin.identity.update_project(project, is_enabled=False)
    assert new_client().try_login_as(user).error == "no_project"


# End of sessions


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

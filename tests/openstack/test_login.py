"""Login through Keystone: which credentials it accepts, and which project it gives a token for."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness import Reply, RunningServer
from tests.openstack.conftest import Serve
from tests.openstack.federated_client import FederatedClient
from tests.openstack.reference import Connection
from tests.openstack.sessions import sessions_of
from tests.openstack.tenants import TenantFactory, unique_name

pytestmark = pytest.mark.xdist_group("login")

NewClient = Callable[..., FederatedClient]


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


@pytest.mark.parametrize("username", ["dave", "erin"])
def test_project_is_not_guessed(new_client: NewClient, username: str) -> None:
    reply = new_client().try_login_as(username)
    assert (reply.status, reply.error) == (403, "no_project")


def test_disabled_project_is_not_usable(new_client: NewClient, factory: TenantFactory, admin: Connection) -> None:
    project = factory.project()
    user = factory.user(project, default=project)
    admin.identity.update_project(project, is_enabled=False)
    assert new_client().try_login_as(user).error == "no_project"

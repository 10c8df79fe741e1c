"""Keystone vouches: who gets in, after how many calls, what is a no and what a failure; tokens that end."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from cloudconsole.backends.openstack.client import OpenStackClient
from cloudconsole.backends.openstack.config import ClientLimits, Endpoint
from cloudconsole.backends.openstack.keystone import KeystoneIdentity
from cloudconsole.backends.openstack.token_encryption import TokenCipher, rotate_keys
from cloudconsole.core.ports import ClientInfo, CloudCredentials, FederatedUser
from cloudconsole.spec.errors import NoProject, UpstreamFailed, UpstreamTimeout
from tests.backends.openstack.fake_cloud import CloudDouble, Reply
from tests.harness import HeldClock, trusting_tests

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / "keystone.json").read_text("utf-8"))
ACME = "603f0ff1af5b46218e889259439807ec"
GLOBEX = "48fa48413d9d4a9d9f99a03ffad57b08"
ALICE = "c747c4040d8d482395b1cb6c98d7ed36"
LOGIN, PROJECTS, TOKENS = ("POST", "/v3/auth/tokens"), ("GET", "/v3/auth/projects"), "/v3/auth/tokens"
EXPIRES = 1_794_859_628.0
"""2026-11-16T20:07:08Z, as recorded."""

Result = TypeVar("Result")


def reply(name: str) -> Reply:
    """As a real Keystone answered."""
    return Reply(**RECORDED[name])


def changed(name: str, change: Callable[[dict[str, Any]], object]) -> Reply:
    recorded = deepcopy(RECORDED[name])
    change(recorded)
    return Reply(**recorded)


class Tenants:
    """Knows every project but those that are disabled."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.found: int | None = 7

    async def tenant_of(self, project: str, name: str) -> int | None:
        self.asked.append((project, name))
        return self.found


class Desk:
    """An identity over the small cloud, with all it is made of."""

    def __init__(self, cloud: CloudDouble, file: Path, caller: ClientInfo) -> None:
        self.cloud = cloud
        self.file = file
        self.caller = caller
        self.endpoint = Endpoint(cloud.address)
        self.client_limits = ClientLimits()
        self.tenants = Tenants()
        self.clock = HeldClock(EXPIRES - 86_400)

    def run(self, use: Callable[[KeystoneIdentity], Coroutine[Any, Any, Result]]) -> Result:
        async def used() -> Result:
            upstream = OpenStackClient(self.client_limits, trusting_tests())
            try:
                return await use(
                    KeystoneIdentity(self.endpoint, upstream, TokenCipher(self.file), self.tenants, self.clock)
                )
            finally:
                await upstream.close()

        return asyncio.run(used())

    def log_in(self, username: str = "alice", password: str = "alice-password") -> FederatedUser | None:
        return self.run(lambda identity: identity.authenticate(username, password, self.caller))

    def access(self) -> CloudCredentials:
        return CloudCredentials(self.endpoint.address, ALICE, ACME, {}, TokenCipher(self.file).encrypt("the-token"))

    def vouches(self, access: CloudCredentials | None = None) -> bool:
        return self.run(lambda identity: identity.is_valid(access or self.access(), self.caller))

    def revoke(self, access: CloudCredentials | None = None) -> None:
        self.run(lambda identity: identity.revoke(access or self.access(), self.caller))


@pytest.fixture
def desk(cloud: CloudDouble, tmp_path: Path, caller: ClientInfo) -> Desk:
    return Desk(cloud, tmp_path / "token-keys", caller)


def test_with_a_default_project_one_call_is_enough(desk: Desk, cloud: CloudDouble) -> None:
    cloud.answers(*LOGIN, reply("login_default_project"))
    guest = desk.log_in("ALICE")
    assert guest is not None
    assert (guest.username, guest.tenant_id, guest.expires_at) == ("alice", 7, EXPIRES)
    assert (guest.credentials.endpoint, guest.credentials.user_id, guest.credentials.project_id) == (
        cloud.address,
        ALICE,
        ACME,
    )
    assert TokenCipher(desk.file).decrypt(guest.credentials.encrypted_token) == "gAAAA-login-default-project"
    assert cloud.calls() == [LOGIN]


def test_the_catalog_gives_the_services(desk: Desk, cloud: CloudDouble) -> None:
    cloud.answers(*LOGIN, reply("login_default_project"))
    guest = desk.log_in()
    assert guest is not None
    assert guest.credentials.services == {
        "RegionOne": {
            "compute": "http://127.0.0.1:19021/v2.1",
            "volume": f"http://127.0.0.1:31261/v3/{ACME}",
            "network": "http://127.0.0.1:18784/v2.0",
            "image": "http://127.0.0.1:17066/v2",
            "load-balancer": "http://127.0.0.1:17117/v2",
        }
    }


def test_regions_that_may_not_be_used_give_none(desk: Desk, cloud: CloudDouble) -> None:
    desk.endpoint = Endpoint(cloud.address, regions=("Elsewhere",))
    cloud.answers(*LOGIN, reply("login_default_project"))
    guest = desk.log_in()
    assert guest is not None
    assert guest.credentials.services == {}


def test_asks_by_name_in_the_users_domain_and_for_no_scope(desk: Desk, cloud: CloudDouble) -> None:
    desk.endpoint = Endpoint(cloud.address, user_domain="Kunden")
    cloud.answers(*LOGIN, reply("login_default_project"))
    desk.log_in('a"\\é', " p ")
    [asked] = cloud.asked
    user = {"name": 'a"\\é', "domain": {"name": "Kunden"}, "password": " p "}
    assert asked.body == {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    assert asked.headers["X-Forwarded-For"] == desk.caller.address


def unscoped(cloud: CloudDouble, projects: Reply, then: Reply | None = None) -> None:
    cloud.answers(*LOGIN, reply("login_unscoped"), then or reply("login_scoped_by_token"))
    cloud.answers(*PROJECTS, projects)


def scopes(cloud: CloudDouble) -> list[Any]:
    return [asked.body["auth"].get("scope") for asked in cloud.asked if asked.method == "POST"]


def test_without_a_default_project_the_only_one_is_taken(desk: Desk, cloud: CloudDouble) -> None:
    unscoped(cloud, reply("projects_one"))
    guest = desk.log_in("carol", "carol-password")
    assert guest is not None
    assert (guest.username, guest.credentials.project_id) == ("carol", ACME)
    assert TokenCipher(desk.file).decrypt(guest.credentials.encrypted_token) == "gAAAA-login-scoped-by-token"
    assert cloud.calls() == [LOGIN, PROJECTS, LOGIN]
    assert cloud.asked[1].headers["X-Auth-Token"] == "gAAAA-login-unscoped"
    assert cloud.asked[2].body == {
        "auth": {
            "identity": {"methods": ["token"], "token": {"id": "gAAAA-login-unscoped"}},
            "scope": {"project": {"id": ACME}},
        }
    }


def test_of_several_projects_the_one_of_the_configured_name_is_taken(desk: Desk, cloud: CloudDouble) -> None:
    desk.endpoint = Endpoint(cloud.address, project="globex")
    unscoped(cloud, reply("projects_two"))
    desk.log_in()
    assert scopes(cloud) == [None, {"project": {"id": GLOBEX}}]


def test_however_many_projects_there_are_three_calls_are_enough(desk: Desk, cloud: CloudDouble) -> None:
    desk.endpoint = Endpoint(cloud.address, project="p500")
    many = [{"id": f"id{number}", "name": f"p{number}"} for number in range(1000)]
    unscoped(cloud, Reply(body={"projects": many}))
    assert desk.log_in() is not None
    assert cloud.calls() == [LOGIN, PROJECTS, LOGIN]


def project(name: str, **facts: Any) -> dict[str, Any]:
    return {"id": f"id-{name}", "name": name, "enabled": True, "domain_id": "default", **facts}


@pytest.mark.parametrize(
    ("projects", "taken"),
    [
        ([project("a", enabled=False), project("b")], "id-b"),
        ([project("a", is_domain=True), project("b")], "id-b"),
        ([project("a"), project("named"), project("b")], "id-named"),
        ([project("named", id="far", domain_id="other"), project("named", id="near")], "near"),
        ([project("a"), project("named", domain_id="other")], "id-named"),
    ],
    ids=["enabled", "no domain", "named", "in the own domain", "in another domain"],
)
def test_which_project_is_taken(desk: Desk, cloud: CloudDouble, projects: list[Any], taken: str) -> None:
    desk.endpoint = Endpoint(cloud.address, project="named")
    unscoped(cloud, Reply(body={"projects": projects}))
    desk.log_in()
    assert scopes(cloud)[1] == {"project": {"id": taken}}


@pytest.mark.parametrize(
    ("name", "projects"),
    [
        (None, []),
        ("named", []),
        (None, [project("a"), project("b")]),
        ("named", [project("a"), project("b")]),
        ("named", [project("a"), project("b"), project("named", enabled=False)]),
        ("named", [project("named", id="x", domain_id="y"), project("named", id="z", domain_id="w")]),
        ("a", [project("a", enabled=False)]),
    ],
    ids=["none", "none, one named", "several", "none of the name", "named but disabled", "two far ones", "disabled"],
)
def test_no_project_to_work_in(desk: Desk, cloud: CloudDouble, name: str | None, projects: list[Any]) -> None:
    desk.endpoint = Endpoint(cloud.address, project=name)
    unscoped(cloud, Reply(body={"projects": projects}))
    with pytest.raises(NoProject):
        desk.log_in()
    assert cloud.calls() == [LOGIN, PROJECTS]


def test_a_project_that_may_not_be_entered_is_none(desk: Desk, cloud: CloudDouble) -> None:
    unscoped(cloud, reply("projects_one"), Reply(403, {"error": {"code": 403}}))
    with pytest.raises(NoProject):
        desk.log_in()


@pytest.mark.parametrize("name", ["login_wrong_password", "login_expired_password", "login_locked_out"])
def test_keystones_no_is_a_no(desk: Desk, cloud: CloudDouble, name: str) -> None:
    cloud.answers(*LOGIN, reply(name))
    assert desk.log_in() is None


def test_that_another_factor_is_due_is_a_no(desk: Desk, cloud: CloudDouble) -> None:
    receipt = {"receipt": {"methods": ["password"]}, "required_auth_methods": [["password", "totp"]]}
    cloud.answers(*LOGIN, Reply(401, receipt, {"Openstack-Auth-Receipt": "gAAAA-receipt"}))
    assert desk.log_in() is None


def test_a_tenant_that_the_operator_disabled_is_a_no(desk: Desk, cloud: CloudDouble) -> None:
    desk.tenants.found = None
    cloud.answers(*LOGIN, reply("login_default_project"))
    assert desk.log_in() is None
    assert desk.tenants.asked == [(f"{ACME}@{cloud.address}", "acme")]


def spoilt(*path: str, value: Any = msgspec.UNSET) -> Reply:
    """A login's answer in which one thing is missing, or another than it should be."""

    def spoil(recorded: dict[str, Any]) -> None:
        *way, last = path
        for step in way:
            recorded = recorded[step]
        if value is msgspec.UNSET:
            del recorded[last]
        else:
            recorded[last] = value

    return changed("login_default_project", spoil)


NONSENSE = {
    "a 401 of something else": Reply(401, b"<html>"),
    "a 401 without a word": Reply(401),
    "forbidden": Reply(403, {"error": {"code": 403}}),
    "not there": Reply(404, {"error": {"code": 404}}),
    "bad request": Reply(400, {"error": {"code": 400}}),
    "down": Reply(503),
    "a page": Reply(200, b"<html>"),
    "nothing": Reply(201, headers={"X-Subject-Token": "t"}),
    "no token": spoilt("headers", "X-Subject-Token"),
    "empty token": spoilt("headers", "X-Subject-Token", value=""),
    "no body": spoilt("body", value={}),
    "token null": spoilt("body", "token", value=None),
    "no user": spoilt("body", "token", "user"),
    "no user id": spoilt("body", "token", "user", "id"),
    "user id null": spoilt("body", "token", "user", "id", value=None),
    "user id for no address": spoilt("body", "token", "user", "id", value="a/../b"),
    "user id with the end of a line": spoilt("body", "token", "user", "id", value="a\n"),
    "no user name": spoilt("body", "token", "user", "name"),
    "empty user name": spoilt("body", "token", "user", "name", value=""),
    "project without id": spoilt("body", "token", "project", value={"name": "acme"}),
    "project id for no address": spoilt("body", "token", "project", "id", value="a?b"),
    "catalog of another kind": spoilt("body", "token", "catalog", value={}),
    "no expiry": spoilt("body", "token", "expires_at"),
    "expiry null": spoilt("body", "token", "expires_at", value=None),
    "expiry no date": spoilt("body", "token", "expires_at", value="tomorrow"),
    "expiry without a zone": spoilt("body", "token", "expires_at", value="2026-11-16T20:07:08.000000"),
    "expired": spoilt("body", "token", "expires_at", value="2026-11-15T20:07:08.000000Z"),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_what_is_no_answer_of_a_keystone_is_a_failure_and_not_a_no(
    desk: Desk, cloud: CloudDouble, answer: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.answers(*LOGIN, answer)
    with pytest.raises(UpstreamFailed):
        desk.log_in("alice", "very-secret")
    assert len(caplog.messages) == 1
    assert "very-secret" not in caplog.text
    assert "gAAAA" not in caplog.text


def test_a_slow_keystone_is_a_timeout(desk: Desk, cloud: CloudDouble) -> None:
    desk.client_limits = ClientLimits(call_seconds=0.05)
    cloud.answers(*LOGIN, Reply(instead="freeze"))
    with pytest.raises(UpstreamTimeout):
        desk.log_in()


@pytest.mark.parametrize(
    ("projects", "scoped"),
    [
        (reply("login_wrong_password"), reply("login_scoped_by_token")),
        (Reply(body={"projects": None}), reply("login_scoped_by_token")),
        (Reply(body={"projects": [{"name": "a"}]}), reply("login_scoped_by_token")),
        (reply("projects_one"), reply("login_wrong_password")),
        (reply("projects_one"), reply("login_unscoped")),
    ],
    ids=["401 for projects", "no projects", "a project without id", "401 for a scope", "a scope that is none"],
)
def test_after_the_password_was_right_there_is_no_no(
    desk: Desk, cloud: CloudDouble, projects: Reply, scoped: Reply
) -> None:
    unscoped(cloud, projects, scoped)
    with pytest.raises(UpstreamFailed):
        desk.log_in()


def test_a_password_is_not_tried_twice(desk: Desk, cloud: CloudDouble) -> None:
    cloud.answers(*LOGIN, Reply(instead="hang up"))
    with pytest.raises(UpstreamFailed):
        desk.log_in()
    assert cloud.calls() == [LOGIN]


def test_no_name_is_recognised(desk: Desk) -> None:
    async def recognises(identity: KeystoneIdentity) -> bool:
        return await identity.knows_username("alice")

    assert desk.run(recognises) is False


def test_a_good_token_is_vouched_for(desk: Desk, cloud: CloudDouble) -> None:
    cloud.answers("GET", TOKENS, reply("token_good"))
    assert desk.vouches()
    [asked] = cloud.asked
    assert (asked.headers["X-Auth-Token"], asked.headers["X-Subject-Token"]) == ("the-token", "the-token")
    assert asked.query == {"nocatalog": ""}


@pytest.mark.parametrize("name", ["token_project_deleted", "token_user_disabled"])
def test_a_token_that_keystone_refuses_is_not(desk: Desk, cloud: CloudDouble, name: str) -> None:
    cloud.answers("GET", TOKENS, reply(name))
    assert not desk.vouches()


@pytest.mark.parametrize(("part", "value"), [("project", {"id": GLOBEX, "name": "globex"}), ("project", None)])
def test_a_token_for_another_project_is_not(desk: Desk, cloud: CloudDouble, part: str, value: Any) -> None:
    cloud.answers(
        "GET", TOKENS, changed("token_good", lambda recorded: recorded["body"]["token"].update({part: value}))
    )
    assert not desk.vouches()


def test_a_token_of_another_user_is_not(desk: Desk, cloud: CloudDouble) -> None:
    cloud.answers("GET", TOKENS, reply("token_good"))
    assert not desk.vouches(msgspec.structs.replace(desk.access(), user_id="someone-else"))


@pytest.mark.parametrize(
    "answer",
    [Reply(404, b"<html>"), Reply(401), Reply(403, {"error": {"code": 403}}), Reply(500), Reply(body={}), Reply(204)],
    ids=["a page", "a 401 without a word", "forbidden", "a fault", "no token", "nothing"],
)
def test_a_keystone_that_cannot_be_asked_is_a_failure_and_not_a_no(
    desk: Desk, cloud: CloudDouble, answer: Reply
) -> None:
    cloud.answers("GET", TOKENS, answer)
    with pytest.raises(UpstreamFailed):
        desk.vouches()


def test_a_token_under_a_key_that_is_gone_is_not_vouched_for_and_not_asked_about(
    desk: Desk, cloud: CloudDouble
) -> None:
    access = desk.access()
    rotate_keys(desk.file)
    rotate_keys(desk.file)
    assert not desk.vouches(access)
    desk.revoke(access)
    assert not cloud.asked


@pytest.mark.parametrize("answer", [Reply(204), Reply(401, {}), Reply(404, {})], ids=["done", "401", "404"])
def test_a_token_is_made_worthless_or_is_so_already(desk: Desk, cloud: CloudDouble, answer: Reply) -> None:
    cloud.answers("DELETE", TOKENS, answer)
    desk.revoke()
    [asked] = cloud.asked
    assert (asked.headers["X-Auth-Token"], asked.headers["X-Subject-Token"]) == ("the-token", "the-token")


def test_a_token_that_cannot_be_made_worthless_is_a_failure(desk: Desk, cloud: CloudDouble) -> None:
    cloud.answers("DELETE", TOKENS, Reply(500))
    with pytest.raises(UpstreamFailed):
        desk.revoke()

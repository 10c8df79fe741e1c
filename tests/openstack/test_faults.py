"""Services that stop, hang and come back while many call: every answer is right, or tells of trouble in time.

These tests disturb all who use the cloud, so nothing else may run beside them.
"""

import random
import time
from collections.abc import Callable, Collection, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from lab.cloud import Lab

from tests.harness import RunningServer
from tests.openstack.conftest import Serve
from tests.openstack.crowd import (
    ACTION_SECONDS,
    CALL_SECONDS,
    LOGIN,
    WISHES,
    Crowd,
    Heard,
    gathered,
)
from tests.openstack.faults import Fault, ended, frozen
from tests.openstack.guests import Guest
from tests.openstack.residents import until
from tests.openstack.sessions import sessions_of

pytestmark = pytest.mark.xdist_group("faults")

Visit = Callable[..., Guest]

NOVA, CINDER = "RegionOne/nova-api", "RegionOne/cinder-api"
OF_NOVA = {"GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated"}
OF_CINDER = {"GetUsageLimits", "GetConsumptionsEstimated"}
OF_ANY_SERVICE = OF_NOVA | OF_CINDER
OF_LIMITS = ("Nova", "Cinder", "Neutron")
AT_ONCE = 2

IMPATIENT = {"cloud_call_timeout": CALL_SECONDS, "cloud_timeout": ACTION_SECONDS, "cloud_cache": 0, "flavor_cache": 0}


@pytest.fixture(scope="module")
def busy(serve: Serve) -> RunningServer:
    return serve(identity_recheck=5, **IMPATIENT)


@pytest.fixture(scope="module")
def crowd(busy: RunningServer, lab: Lab) -> Iterator[Crowd]:
    """Thirty: the same who logged in before the first fault go through all of them."""
    with gathered(busy, lab, dict.fromkeys(WISHES, 2)) as thirty:
        assert len(thirty.members) == 30
        yield thirty


@pytest.fixture(scope="module")
def wary(serve: Serve) -> RunningServer:
    """A console that asks Keystone on every call."""
    return serve(identity_recheck=0, **IMPATIENT)


def is_right(heard: Heard) -> bool:
    return heard.is_right


def is_trouble(heard: Heard) -> bool:
    return heard.is_trouble


def is_504(heard: Heard) -> bool:
    return heard.reply.status == 504


def is_502(heard: Heard) -> bool:
    return heard.reply.status == 502


def test_tenants_are_told_apart(crowd: Crowd) -> None:
    """Else no answer to the crowd could show that it is another tenant's."""
    told = {str(member): member.expected for member in crowd.members}
    for wish in OF_CINDER:
        assert told[f"alice's {wish}"] == told[f"carol's {wish}"] != told[f"bob's {wish}"]


@pytest.mark.parametrize(
    ("fault", "trouble", "touched", "untouched"),
    [
        pytest.param(ended(NOVA), is_502, OF_NOVA, {"GetNews", LOGIN}, id="Nova stops"),
        pytest.param(frozen(CINDER), is_504, OF_CINDER, {"GetFlavors", "GetNews", LOGIN}, id="Cinder hangs"),
        pytest.param(ended("keystone"), is_502, WISHES, (), id="Keystone stops"),
        pytest.param(frozen("keystone"), is_504, WISHES, (), id="Keystone hangs"),
        # Keystone may know a token by heart.
        pytest.param(ended("mariadb"), is_trouble, {LOGIN, *OF_ANY_SERVICE}, (), id="MariaDB stops"),
        pytest.param(
            frozen("mariadb"), is_504, {LOGIN, *OF_ANY_SERVICE}, (), id="MariaDB hangs", marks=pytest.mark.full
        ),
    ],
)
def test_every_answer_is_right_or_tells_of_trouble_and_all_is_well_after_it(
    crowd: Crowd,
    lab: Lab,
    fault: Fault,
    trouble: Callable[[Heard], bool],
    touched: Collection[str],
    untouched: Collection[str],
) -> None:
    crowd.wait_for(is_right, WISHES, time.monotonic())
    since = time.monotonic()
    with fault(lab):
        failed = time.monotonic()
        crowd.wait_for(trouble, touched, failed)
        crowd.wait_for(is_right, untouched, failed)
    crowd.wait_for(is_right, WISHES, time.monotonic())
    crowd.judge(since, untouched=untouched)


def test_a_service_that_hangs_leaves_nothing_open_behind_it(serve: Serve, lab: Lab) -> None:
    console = serve(cloud_concurrency=AT_ONCE, identity_recheck=3600, **{**IMPATIENT, "cloud_call_timeout": 2})
    with gathered(console, lab, {"GetUsageLimits": 2}) as crowd:
        crowd.wait_for(is_right, WISHES, time.monotonic())
        before, failed = most_open(console), time.monotonic()
        with frozen(CINDER)(lab):
            # Each call in vain is two members' and so is its connection, of which more are had than may stay.
            assert until(lambda: sum(map(is_504, crowd.heard(failed))) >= 4 * len(OF_LIMITS) * AT_ONCE)
        crowd.wait_for(is_right, WISHES, time.monotonic())
        assert until(lambda: most_open(console) <= before + len(OF_LIMITS) * AT_ONCE)


def most_open(console: RunningServer) -> int:
    """Files and connections that the console has at once, at the most, within a moment."""
    counts = []
    for _ in range(20):
        counts.append(len(list(Path(f"/proc/{console.process.pid}/fd").iterdir())))
        time.sleep(0.05)
    return max(counts)


def test_those_who_wait_for_one_service_take_no_room_from_another(serve: Serve, lab: Lab) -> None:
    narrow = serve(cloud_concurrency=1, identity_recheck=3600, **IMPATIENT)
    with gathered(narrow, lab, {"GetUsageLimits": 9, "GetFlavors": 1}) as crowd, frozen(CINDER)(lab):
        failed = time.monotonic()
        crowd.wait_for(is_504, {"GetUsageLimits"}, failed)
        crowd.wait_for(is_right, {"GetFlavors"}, time.monotonic())
        crowd.judge(failed, untouched={"GetFlavors"})


def test_a_keystone_that_hangs_when_it_is_asked_again_ends_nothing(wary: RunningServer, visit: Visit, lab: Lab) -> None:
    alice = visit(wary).enter("alice")
    with frozen("keystone")(lab):
        assert alice.call("GetNews").error == "upstream_timeout"
    assert until(lambda: alice.call("GetNews").status == 200)


def test_a_logout_while_keystone_hangs_ends_the_session(wary: RunningServer, visit: Visit, lab: Lab) -> None:
    alice = visit(wary).enter("alice")
    cookies = dict(alice.cookies)
    with frozen("keystone")(lab):
        assert alice.logout().status == 200
        alice.cookies = cookies
        assert alice.call("GetNews").error == "login_required"


def test_a_service_that_refuses_a_token_since_it_cannot_ask_keystone_ends_nothing(
    serve: Serve, visit: Visit, lab: Lab
) -> None:
    """Glance answers so. It is the only service of the region that has not seen the token yet."""
    console = serve('regions = ["RegionOne"]', identity_recheck=3600, cloud_cache=0)
    bob = visit(console).enter("bob")
    (session,) = sessions_of(console, "bob")
    for service, path in ((NOVA, "/v2.1/limits"), (CINDER, "/v3/limits"), ("RegionOne/octavia-api", "/v2/lbaas/pools")):
        assert status_of(lab, service, path, session.token) == 200
    with ended("keystone")(lab):
        assert bob.call("GetConsumptionsEstimated").error == "upstream_failed"
        assert until(lambda: "rejected a token" in console.log())
    assert until(lambda: bob.call("GetConsumptionsEstimated").status == 200)


def status_of(lab: Lab, service: str, path: str, token: str) -> int:
    connection = HTTPConnection("127.0.0.1", lab.plan.ports[service], timeout=30)
    try:
        connection.request("GET", path, headers={"X-Auth-Token": token})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.full
def test_one_fault_after_the_other(crowd: Crowd, lab: Lab) -> None:
    faults = [ended(NOVA), frozen(NOVA), frozen(CINDER), ended("keystone"), frozen("keystone"), ended("mariadb")]
    since = time.monotonic()
    for fault in random.sample(faults * 2, 2 * len(faults)):
        with fault(lab):
            time.sleep(random.uniform(0, 2 * ACTION_SECONDS))
    crowd.wait_for(is_right, WISHES, time.monotonic())
    crowd.judge(since)

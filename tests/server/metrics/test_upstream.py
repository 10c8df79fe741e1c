"""The metrics of a console before a cloud: what it asked there, and what became of it."""

import time
from collections.abc import Iterator

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from tests.harness import Caller, HeldClock, InProcess
from tests.server.doctor.small_cloud import PASSWORD, USER, SmallCloud
from tests.server.metrics.conftest import Scrape
from tests.stores import settings_over


@pytest.fixture
def cloud() -> Iterator[SmallCloud]:
    with SmallCloud() as double:
        yield double


@pytest.fixture
def clock() -> HeldClock:
    """The token ends by the real clock."""
    return HeldClock(time.time())


@pytest.fixture
def settings(settings: Settings, cloud: SmallCloud) -> Settings:
    endpoint = IdentityEndpoint(cloud.address, KEYSTONE, Endpoint(cloud.address))
    return settings_over(settings.data, identity=(endpoint,))


def test_calls_to_the_cloud_are_counted_by_service(wire: InProcess, cloud: SmallCloud, scrape: Scrape) -> None:
    visitor = Caller(wire)
    assert visitor.login(USER, PASSWORD, region=cloud.address).status == 200
    assert visitor.call("GetFlavors").status == 200
    # The small cloud tells no limits, which makes no sense of Nova, Cinder or Neutron.
    assert visitor.call("GetUsageLimits").error == "upstream_failed"
    wire.together(wire.console.leave())
    page = scrape()
    assert page.value("upstream_request_duration_seconds_count", service="identity") == 1
    assert page.value("upstream_request_duration_seconds_count", service="compute") == 2
    assert page.value("upstream_request_duration_seconds_sum", service="compute") > 0
    assert page.value("upstream_failures_total", service="identity", reason="upstream_failed") == 0
    failures = [
        page.value("upstream_failures_total", service=service, reason="upstream_failed")
        for service in ("compute", "volume", "network")
    ]
    assert sum(failures) > 0
    assert page.by_label("upstream_requests_in_flight", "service") == {}

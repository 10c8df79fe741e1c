"""Metrics of a console's requests to an OpenStack cloud."""

import time
from collections.abc import Iterator

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from tests.harness import ApiClient, FakeClock, InProcessTransport
from tests.server.doctor.small_cloud import PASSWORD, USER, SmallCloud
from tests.server.metrics.conftest import Scrape
from tests.stores import settings_for


@pytest.fixture
def cloud() -> Iterator[SmallCloud]:
    with SmallCloud() as fake:
        yield fake


@pytest.fixture
def clock() -> FakeClock:
    """The current time: the token expires by the system clock."""
    return FakeClock(time.time())


@pytest.fixture
def settings(settings: Settings, cloud: SmallCloud) -> Settings:
    endpoint = IdentityEndpoint(cloud.address, KEYSTONE, Endpoint(cloud.address))
    return settings_for(settings.data, identity=(endpoint,))


def test_upstream_requests_are_counted_by_service(
    transport: InProcessTransport, cloud: SmallCloud, scrape: Scrape
) -> None:
    client = ApiClient(transport)
    assert client.login(USER, PASSWORD, region=cloud.address).status == 200
    assert client.call("GetFlavors").status == 200
    # The small cloud returns no limits, so its Nova, Cinder and Neutron responses are invalid.
    assert client.call("GetUsageLimits").error == "upstream_failed"
    transport.gather(transport.console.leave())
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

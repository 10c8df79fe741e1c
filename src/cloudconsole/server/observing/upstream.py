"""Counts the calls to the services of a cloud behind the console."""

from cloudconsole.backends.openstack.config import Service
from cloudconsole.server.observing.layout import UPSTREAM_FAILURES, UPSTREAM_IN_FLIGHT, UPSTREAM_PLACES
from cloudconsole.server.observing.meter import Meter
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout


class UpstreamMeter:
    """A cloud's watcher whose figures all processes share."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def begun(self, service: Service) -> None:
        self._meter.add(UPSTREAM_IN_FLIGHT[service])

    def ended(self, service: Service, nanoseconds: int) -> None:
        self._meter.add(UPSTREAM_IN_FLIGHT[service], -1)
        self._meter.observe(UPSTREAM_PLACES[service], nanoseconds)

    def failed(self, service: Service, *, was_slow: bool) -> None:
        reason = UpstreamTimeout.error if was_slow else UpstreamFailed.error
        self._meter.add(UPSTREAM_FAILURES[service, reason])

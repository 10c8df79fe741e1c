"""Temporary faults of the lab's services, which are always repaired after the test."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from lab.cloud import Lab

from lab import services

Fault = Callable[[Lab], AbstractContextManager[None]]


def stopped(service: str) -> Fault:
    """Stop a service: its port refuses connections."""

    @contextmanager
    def fail(lab: Lab) -> Iterator[None]:
        lab.stop(service)
        try:
            yield
        finally:
            lab.start(service)

    return fail


def frozen(service: str) -> Fault:
    """Suspend a service: it accepts connections and never responds."""

    @contextmanager
    def fail(lab: Lab) -> Iterator[None]:
        lab.suspend(service)
        try:
            yield
        finally:
            lab.resume(service)
            services.wait(lab.plan, [services.all_services(lab.plan)[service]])

    return fail

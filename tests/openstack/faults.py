"""Services of the lab that fail for a while; whatever becomes of the test, they are well again after it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from lab.cloud import Lab

from lab import services

Fault = Callable[[Lab], AbstractContextManager[None]]


def ended(service: str) -> Fault:
    """Its port refuses connections."""

    @contextmanager
    def fail(lab: Lab) -> Iterator[None]:
        lab.stop(service)
        try:
            yield
        finally:
            lab.start(service)

    return fail


def frozen(service: str) -> Fault:
    """It accepts connections, and says nothing."""

    @contextmanager
    def fail(lab: Lab) -> Iterator[None]:
        lab.suspend(service)
        try:
            yield
        finally:
            lab.resume(service)
            services.wait(lab.plan, [services.all_services(lab.plan)[service]])

    return fail

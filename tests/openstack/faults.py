"""Services of the lab that fail for a while; whatever becomes of the test, they are well again after it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from lab.cloud import Lab

from lab import running, services

Fault = Callable[[Lab], AbstractContextManager[None]]


def ended(service: str) -> Fault:
    """Its port refuses connections."""

    @contextmanager
    def fail(lab: Lab) -> Iterator[None]:
        lab.end(service)
        try:
            yield
        finally:
            lab.begin(service)

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
            running.wait(lab.plan, [services.all_services(lab.plan)[service]])

    return fail

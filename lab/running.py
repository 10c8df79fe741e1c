"""Beginning services and waiting until they answer; one that died says why in the last lines of its log."""

import http.client
import socket
import time
from collections.abc import Callable, Iterable

from lab import processes
from lab.plan import HOST, Plan
from lab.processes import Records
from lab.services import Service

PATIENCE = 240  # seconds that all services together have to become ready, on a busy machine


class ServiceFailed(Exception):
    """A service ended, or is not ready in time."""


def begin(plan: Plan, services: Iterable[Service]) -> None:
    """Start services; each is on record before the next one starts."""
    records = Records(plan.folder)
    for service in services:
        records.add(service.name, processes.begin(service.command, service.environment, plan.log(service.name)))


def wait(plan: Plan, services: Iterable[Service], patience: float = PATIENCE) -> None:
    """Wait until all that have a port answer on it."""
    waited_for = {service.name: service for service in services if service.port}

    def silent() -> str:
        for name, service in list(waited_for.items()):
            if answers(service):
                del waited_for[name]
        return next(iter(waited_for), "")

    wait_until(plan, silent, patience)


def wait_until(plan: Plan, missing: Callable[[], str], patience: float = PATIENCE) -> None:
    """Wait until nothing is missing any more; what is, is named by the service that should have seen to it."""
    deadline = time.monotonic() + patience
    while name := missing():
        for service, process in Records(plan.folder).all().items():
            if not process.alive:
                raise ServiceFailed(f"{service} ended by itself. {last_lines(plan, service)}")
        if time.monotonic() > deadline:
            raise ServiceFailed(f"{name} is not ready after {patience:.0f} seconds. {last_lines(plan, name)}")
        time.sleep(0.2)


def answers(service: Service) -> bool:
    """Whether a service answers on its port, with whatever it likes."""
    if service.speaks_http:
        connection = http.client.HTTPConnection(HOST, service.port, timeout=10)
        try:
            connection.request("GET", "/")
            connection.getresponse()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True
    try:
        socket.create_connection((HOST, service.port or 0), 1).close()
    except OSError:
        return False
    return True


def last_lines(plan: Plan, service: str, count: int = 15) -> str:
    log = plan.log(service)
    try:
        lines = log.read_text(errors="replace").splitlines()[-count:]
    except FileNotFoundError:
        return "It has no log."
    return "\n".join([f"The last lines of {log}:", *lines])

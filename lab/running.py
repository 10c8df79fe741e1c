"""Beginning services and waiting until they answer; one that died says why in the last lines of its log."""

import http.client
import socket
import time
from collections.abc import Callable, Iterable

from lab import processes
from lab.errors import LabFailed
from lab.plan import HOST, Plan
from lab.processes import Records
from lab.services import Service

PATIENCE = 420  # seconds that all services together have to become ready, on a busy machine


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

    wait_until(plan, silent, list(waited_for), patience)


def wait_until(plan: Plan, missing: Callable[[], str], watched: Iterable[str], patience: float = PATIENCE) -> None:
    """Wait until no service is missing any more; one that is watched and ends by itself is not waited for."""
    deadline = time.monotonic() + patience
    records = Records(plan.folder)
    while name := missing():
        for service in watched:
            process = records.get(service)
            if process and not process.alive:
                raise LabFailed(f"{service} ended by itself. {last_lines(plan, service)}")
        if time.monotonic() > deadline:
            raise LabFailed(f"{name} is not ready after {patience:.0f} seconds. {last_lines(plan, name)}")
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

"""Port allocation."""

import socket

import pytest
from lab.errors import LabError
from lab.plan import HOST, REGIONS

from lab import ports, services


def test_each_name_gets_a_different_port() -> None:
    names = services.port_names(REGIONS)
    allocated = ports.allocate(names)
    assert list(allocated) == names
    assert len(set(allocated.values())) == len(names)


def test_ports_are_below_the_ephemeral_range() -> None:
    assert all(port < 32768 for port in ports.allocate(["rabbitmq-distribution"] * 3).values())


def test_a_port_in_use_is_not_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    free = ports.allocate(["taken", "left"])
    monkeypatch.setattr(ports, "RANGE", list(free.values()))
    with socket.socket() as other:
        other.bind((HOST, free["taken"]))
        assert ports.allocate(["only"]) == {"only": free["left"]}


def test_without_a_free_port_allocation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        monkeypatch.setattr(ports, "RANGE", [other.getsockname()[1]])
        with pytest.raises(LabError, match="no free port"):
            ports.allocate(["any"])

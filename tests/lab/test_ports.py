"""Ports of a lab."""

import socket

import pytest
from lab.errors import LabFailed
from lab.plan import HOST, REGIONS

from lab import ports, services


def test_each_name_gets_a_port_of_its_own() -> None:
    names = services.port_names(REGIONS)
    chosen = ports.choose(names)
    assert list(chosen) == names
    assert len(set(chosen.values())) == len(names)


def test_ports_lie_below_those_of_outgoing_connections() -> None:
    assert all(port < 32768 for port in ports.choose(["rabbitmq-distribution"] * 3).values())


def test_a_port_that_is_taken_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    free = ports.choose(["taken", "left"])
    monkeypatch.setattr(ports, "RANGE", list(free.values()))
    with socket.socket() as other:
        other.bind((HOST, free["taken"]))
        assert ports.choose(["only"]) == {"only": free["left"]}


def test_without_a_free_port_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        monkeypatch.setattr(ports, "RANGE", [other.getsockname()[1]])
        with pytest.raises(LabFailed, match="no free port"):
            ports.choose(["any"])

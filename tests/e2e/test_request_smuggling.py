"""Requests with ambiguous ends, sent directly: rejected, or ended where the standard says."""

import re
from collections.abc import Iterator
from contextlib import suppress
from socket import SHUT_WR

import pytest

from tests.e2e.raw_http import raw_connection
from tests.e2e.smuggling_cases import AMBIGUOUS, CASES, OTHERS
from tests.harness import RunningServer, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


def test_all_listed_cases_exist() -> None:
    assert OTHERS.keys() <= CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_hidden_request_is_served_only_if_it_follows_the_body(server: RunningServer, name: str) -> None:
    with raw_connection(server) as raw:
        raw.send(CASES[name])
        with suppress(OSError):
            raw.socket.shutdown(SHUT_WR)
        received = raw.rest()
    assert [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", received)] == OTHERS.get(name, AMBIGUOUS)

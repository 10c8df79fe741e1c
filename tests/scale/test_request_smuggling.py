"""Requests with ambiguous ends, sent through nginx: no replica takes for a request what nginx does not."""

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from shutil import copytree
from uuid import uuid4

import pytest

from tests.e2e.processes import eventually
from tests.e2e.smuggling_cases import CASES, PATH
from tests.scale.sites import ClientTransport, Site, log_lines, raw_connection, two_replica_site

PROBES = 4
SECONDS = 0.2
"""Time for nginx to respond; it closes the connection later if it does not reject the request."""


@pytest.fixture(scope="module")
def site(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with two_replica_site(copytree(fast_hash_store, tmp_path_factory.mktemp("site") / "data")) as running:
        yield running


def hidden_requests(site: Site) -> tuple[int, int]:
    """Count the hidden requests that nginx has forwarded, and those that replicas have served."""
    forwarded = sum(line["path"] == PATH and bool(line["replica"]) for line in site.access_lines())
    return forwarded, sum(line.get("path") == PATH for replica in site.replicas for line in log_lines(replica))


@pytest.mark.parametrize("name", CASES)
def test_replicas_see_the_requests_that_nginx_sees(site: Site, name: str) -> None:
    """Nginx accepts more than the console, for example a bare LF, but sends on only what it has understood."""
    with closing(raw_connection(site.nginx)) as raw:
        raw.send(CASES[name])
        raw.socket.settimeout(SECONDS)
        with suppress(OSError):
            raw.rest()
    probe = uuid4().hex
    # nginx reuses its connections to the replicas: a request left on one of them would get one of these responses.
    with closing(ClientTransport(site.nginx.base)) as transport:
        for _ in range(PROBES):
            reply = transport.send("GET", "/api/", [("X-Request-ID", probe)])
            assert (reply.status, reply.header("x-request-id")) == (200, probe)
    eventually(lambda: sum(line["request_id"] == probe for line in site.access_lines()) == PROBES)
    eventually(lambda: len(set(hidden_requests(site))) == 1)

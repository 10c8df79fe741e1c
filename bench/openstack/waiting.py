"""How much longer than its slowest call to the cloud a cold GetUsageLimits takes."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Final
from urllib.parse import urlsplit

from bench.client import action_request, upstream_request
from bench.figures import PartResult, Refused, Times, ratio
from bench.openstack.guests import NOTHING_KEPT, USER, Asker, console, open_lab
from bench.openstack.timing import Timed, by_turns
from bench.openstack.told import slowest_calls
from bench.rounds import Pace
from lab.cloud import Lab

LIMIT: Final = 1.3
CONSOLE: Final = "GetUsageLimits, cold"
AT_ONCE: Final = "the same three calls at once, without the console"


def run(pace: Pace) -> PartResult:
    lab = open_lab()
    asked: list[str] = []
    with ExitStack() as stack:
        ours = stack.enter_context(console(lab, NOTHING_KEPT, core=None, module="bench.openstack.told"))
        asker = stack.enter_context(closing(Asker(ours.server.port, action_request(ours.guest, "GetUsageLimits"))))
        singly = {
            f"{service} alone, without the console": stack.enter_context(closing(Asker(port, request)))
            for service, (port, request) in _upstream(lab).items()
        }
        threads = stack.enter_context(ThreadPoolExecutor(len(singly)))
        times = by_turns(
            [
                Timed(CONSOLE, lambda: asked.append(_request_id(asker.ask().head))),
                *(Timed(name, service.ask) for name, service in singly.items()),
                Timed(AT_ONCE, lambda: list(threads.map(lambda service: service.ask(), singly.values()))),
            ],
            pace,
        )
        said = b"" if ours.server.log is None else ours.server.log.read_bytes()
    # The first was not counted.
    slowest = within(times[CONSOLE], asked[1:], slowest_calls(said))
    alone = max((times[name].middles for name in singly), key=lambda each: each.spread.middle)
    whole = times[CONSOLE].middles
    return PartResult(
        "waiting",
        [
            ratio(
                "GetUsageLimits, cold / the slowest call to the cloud that it made", whole, slowest.middles, limit=LIMIT
            ),
            ratio("GetUsageLimits, cold / the same three calls at once", whole, times[AT_ONCE].middles),
            ratio(f"GetUsageLimits, cold / {alone.name}", whole, alone),
        ],
        [],
        notes=[
            "The goal is that of the first ratio: the whole time of a call, at the caller, over that of the slowest "
            "call to a service that was made for it, at the console. The second ratio is against a bare client with "
            "kept connections and a token that sends the same three requests from three threads; the third against "
            "the slowest of the three while nothing else is asked. The services of a lab share two cores with each "
            "other and with the console, so that three calls at once take longer than any alone, whoever makes them.",
        ],
        times=[times[CONSOLE], slowest, *(times[name] for name in [*singly, AT_ONCE])],
    )


def _upstream(lab: Lab) -> dict[str, tuple[int, bytes]]:
    """What the console asks, by service: the port, and the request."""
    with lab.connect(USER) as connection:
        token, project = str(connection.auth_token), str(connection.current_project_id)
        # As the catalog has them: only Neutron's is without a version there.
        paths = {"compute": "/limits", "block-storage": "/limits", "network": f"/v2.0/quotas/{project}/details.json"}
        found = {}
        for service, path in paths.items():
            place = str(connection.session.get_endpoint(service_type=service, interface="public"))
            address = urlsplit(place + path)
            if address.port is None:
                raise Refused(f"{service} is at no port of its own")
            found[service] = (address.port, upstream_request(address.path, token))
        return found


def _request_id(head: str) -> str:
    found = re.search(r"^x-request-id: (\S+)$", head, re.MULTILINE)
    if found is None:
        raise Refused("an answer without a request id")
    return found[1]


def within(whole: Times, asked: list[str], slowest: dict[str, float]) -> Times:
    """The slowest call within each of the whole ones."""
    missing = [request_id for request_id in asked if request_id not in slowest]
    if missing or len(asked) != len(whole.calls):
        raise Refused(f"the console did not tell of its calls to the cloud for {len(missing)} requests")
    remaining = iter(asked)
    rounds = [[round(slowest[next(remaining)], 3) for _ in each] for each in whole.rounds]
    return Times("the slowest call to the cloud within it", rounds)

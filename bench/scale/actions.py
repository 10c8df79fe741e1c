"""Each action on SQLite and on PostgreSQL, warm and cold, beside the bare server, nginx, and programs of others."""

from contextlib import ExitStack
from typing import Final

from bench import servers
from bench.client import action_request, log_in, right_body
from bench.data import Plan, store
from bench.figures import Measured, PartResult, Ratio, by_processor_time, ratio
from bench.load import Load
from bench.parts import django
from bench.rounds import Pace, Variant, measure
from bench.scale import peers
from bench.scale.calls import CALLS, Callers, cold, warm
from bench.scale.database import SMALL, database, empty_folder, postgres
from bench.scale.nginx import nginx
from bench.servers import Server
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cluster.postgres import PostgresServer

GOAL_OF_BARE: Final = 0.55
GOAL_OF_PEERS: Final = 8
SQLITE: Final = "SQLite"
POSTGRES: Final = "PostgreSQL"
COMPARED: Final = "GetUsageLimits"
DJANGO: Final = "Django on gunicorn, sync"
"""The fastest of its servers by `make bench`."""


def run(pace: Pace) -> PartResult:
    peers.install()
    with ExitStack() as stack:
        files, tables = store(SMALL), database(stack.enter_context(postgres()), SMALL)
        on_files = stack.enter_context(servers.console(files.folder))
        folder = stack.enter_context(empty_folder())
        on_tables = stack.enter_context(servers.console(folder, "--database", tables.address))
        both: dict[str, tuple[Server, Callers]] = {SQLITE: (on_files, files), POSTGRES: (on_tables, tables)}
        warm_files, warm_tables = (warm(name, *where) for name, where in both.items())
        cold_files, cold_tables = (cold(name, *where) for name, where in both.items())
        bare, by_nginx = _floors(stack, {call: variant.load for call, variant in zip(CALLS, warm_files, strict=True)})
        others = [_django(stack), *_peers(stack)]
        # What is compared is measured within seconds: all of one call side by side, and what is compared with the rest.
        in_turns = zip(warm_files, bare, warm_tables, by_nginx, strict=True)
        kinds = (cold_files, in_turns, cold_tables)
        variants = [each for same in zip(*kinds, strict=True) for each in same]
        at = len(kinds)
        made_with = f"PostgreSQL {_version(tables.server)}, {peers.versions(peers.REQUIREMENTS.read_text())}."
        measured = measure([*variants[:at], *others, *variants[at:]], pace)
        ceilings = [server.memory_ceiling(f"on {name}, after all calls") for name, (server, _) in both.items()]
    ratios = compare(measured, list(CALLS), [other.name for other in others])
    return PartResult(
        "actions",
        ratios,
        list(measured.values()),
        ceilings,
        [
            "Cold: each call is another tenant's, whose session was not in use lately, nor what is answered from; what "
            "all tenants share (flavors, news, shared URLs) may be. PostgreSQL's processes are on the load's core, so "
            "the console's core is its own; the processor time is that of the console. Each of the other programs is "
            "asked something that it answers alone: they neither check a session nor read a database, but Django, "
            "which does the same as the console. Each server has one core, whatever threads or processes it has, and "
            "the load keeps it busy, but for nginx, which is faster: what it could do shows in its processor time.",
            made_with,
        ],
    )


def compare(measured: dict[str, Measured], calls: list[str], others: list[str]) -> list[Ratio]:
    """Call by call against the bare server, nginx and the others; by processor time with one call."""

    def against(call: str, where: str, how: str, goal: float | None) -> Ratio:
        return ratio(
            f"{call}, {where}, {how} / bare", measured[f"{call}, {where}, {how}"], measured[f"bare, as {call}"], goal
        )

    ours = {call: measured[f"{call}, {POSTGRES}, warm"] for call in calls}
    compared = ours[COMPARED]
    return [
        *(against(call, POSTGRES, "warm", GOAL_OF_BARE) for call in calls),
        *(against(call, POSTGRES, "cold", None) for call in calls),
        *(against(call, SQLITE, how, None) for how in ("warm", "cold") for call in calls),
        *(ratio(f"{each.name} / nginx", each, measured[f"nginx, as {call}"]) for call, each in ours.items()),
        by_processor_time(f"{compared.name} / nginx", compared, measured[f"nginx, as {COMPARED}"]),
        *(
            ratio(f"{each.name} / {other}", each, measured[other], GOAL_OF_PEERS)
            for other in others
            for each in ours.values()
        ),
        *(by_processor_time(f"{compared.name} / {other}", compared, measured[other]) for other in others),
    ]


def _version(server: PostgresServer) -> str:
    return str(server.execute("SHOW server_version")[0][0]).partition(" ")[0]


def _floors(stack: ExitStack, loads: dict[str, Load]) -> tuple[list[Variant], list[Variant]]:
    """For each call, the same bytes from the bare server, and from nginx."""
    by_nginx = stack.enter_context(nginx({call: load.body for call, load in loads.items()}))
    bare = {call: stack.enter_context(servers.bare(load.body)) for call, load in loads.items()}
    return (
        [Variant(f"bare, as {call}", bare[call], load) for call, load in loads.items()],
        [Variant(f"nginx, as {call}", by_nginx[call], load) for call, load in loads.items()],
    )


def _django(stack: ExitStack) -> Variant:
    """The fastest of its servers, with the console's own sample."""
    sample = store(Plan())
    environment = stack.enter_context(django.database(sample))
    server = next(each for each in django.django_servers(stack, environment) if each.name == DJANGO)
    request = action_request(log_in(server.port, "demo", SAMPLE_PASSWORDS["demo"]), COMPARED)
    return Variant(f"Django, {COMPARED}", server, Load(request, right_body(server.port, request)))


def _peers(stack: ExitStack) -> list[Variant]:
    found = [stack.enter_context(peer()) for peer in (peers.skyline, peers.moto, peers.horizon)]
    return [Variant(peer.name, peer.server, peer.load) for peer in found]

"""GetUsageLimits, warm, while an operator changes something once a second and twenty people log in."""

from bench import servers
from bench.background import writes
from bench.client import action_request, right_body
from bench.data import Plan, copy_of, store
from bench.figures import Measured, PartResult, ratio
from bench.load import Load
from bench.rounds import Pace, Variant, measure


def run(pace: Pace) -> PartResult:
    with copy_of(store(Plan())) as plan, servers.console(plan.folder) as console:
        logins: list[float] = []
        request = action_request(plan.demo(), "GetUsageLimits")
        load = Load(request, right_body(console.port, request))
        quiet = Variant("GetUsageLimits, nothing else going on", console, load)
        changes = Variant(
            "GetUsageLimits, one change a second",
            console,
            load,
            meanwhile=lambda: writes(plan, console, changes=1, logins=0, reached=[]),
        )
        both = Variant(
            "GetUsageLimits, one change and twenty logins a second",
            console,
            load,
            meanwhile=lambda: writes(plan, console, changes=1, logins=20, reached=logins),
        )
        measured = measure([quiet, changes, both], pace)
    base = measured[quiet.name]
    return PartResult(
        "writes",
        [
            ratio("with one change a second / without", measured[changes.name], base),
            ratio("with one change and twenty logins a second / without", measured[both.name], base),
        ],
        [*measured.values(), Measured("logins beside the calls", "logins/s", logins[-pace.rounds :])],
        notes=["The password checks of twenty logins take their time on the worker's own core."],
    )

"""GetUsageLimits, warm, while an operator changes something once a second and up to twenty people log in."""

from typing import Final

from bench import servers
from bench.background import writes
from bench.client import action_request, right_body
from bench.data import Plan, copy_of, store
from bench.figures import Measured, PartResult, ratio
from bench.load import Load
from bench.rounds import Pace, Variant, measure

LOGINS_WANTED: Final = 20


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
            "GetUsageLimits, one change a second and logins",
            console,
            load,
            meanwhile=lambda: writes(plan, console, changes=1, logins=LOGINS_WANTED, reached=logins),
        )
        measured = measure([quiet, changes, both], pace)
    base = measured[quiet.name]
    reached = Measured("logins beside the calls", "logins/s", logins[-pace.rounds :])
    rate = f"{reached.spread.middle:.3g}"
    return PartResult(
        "writes",
        [
            ratio("with one change a second / without", measured[changes.name], base),
            ratio(f"with one change and {rate} logins a second / without", measured[both.name], base),
        ],
        [*measured.values(), reached],
        notes=[
            f"{LOGINS_WANTED} logins a second were wanted and {rate} reached: "
            "their password checks take their time on the worker's own core, beside the calls."
        ],
    )

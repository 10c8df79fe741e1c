"""While it runs: a live table on a terminal, a line for each check elsewhere."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cloudconsole.conformance.checks import Check, Profile
from cloudconsole.conformance.report import text
from cloudconsole.conformance.running import Outcome, Result

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

STYLES: Final[dict[Outcome, str]] = {"passed": "green", "failed": "bold red", "skipped": "yellow"}


def show_live(results: Iterable[Result], checks: Sequence[Check], console: "Console") -> Iterator[Result]:
    """Hands results on while a table fills with them; afterwards those that need a look are listed."""
    from rich.live import Live

    tallies = {(check.profile, check.section): _Tally() for check in checks}
    for check in checks:
        tallies[check.profile, check.section].planned += 1
    with Live(_table(tallies), console=console, refresh_per_second=8) as live:
        for result in results:
            tallies[result.check.profile, result.check.section].add(result)
            live.update(_table(tallies))
            yield result


def show_ending(results: Iterable[Result], verdict: str, *, good: bool, console: "Console") -> None:
    """What did not pass, by section, and the verdict."""
    from rich.text import Text

    section = ""
    for result in results:
        if result.outcome == "passed":
            continue
        if text.heading(result) != section:
            section = text.heading(result)
            console.print(Text(section, style="bold"))
        console.print(Text(text.line(result), style=STYLES[result.outcome]))
    console.print(Text(verdict, style="bold green" if good else "bold red"))


class _Tally:
    """How far the checks of one section are."""

    def __init__(self) -> None:
        self.planned = 0
        self.outcomes: dict[Outcome, int] = {"passed": 0, "failed": 0, "skipped": 0}

    def add(self, result: Result) -> None:
        self.outcomes[result.outcome] += 1


def _table(tallies: dict[tuple[Profile, str], _Tally]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("profile", "section"):
        table.add_column(name, no_wrap=True)
    for name in ("checks", "ok", "failed", "skipped"):
        table.add_column(name, justify="right")
    for (profile, section), tally in tallies.items():
        cells = [Text(str(count) if count else "", style=STYLES[outcome]) for outcome, count in tally.outcomes.items()]
        table.add_row(Text(profile), Text(section), Text(str(tally.planned)), *cells)
    return table

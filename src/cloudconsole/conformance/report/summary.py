"""A whole run, counted and judged."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args

from cloudconsole.conformance.checks import Level
from cloudconsole.conformance.running import Outcome, Result

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


@dataclass(frozen=True)
class Run:
    version: str
    """Of the kit."""
    base: str
    profile: str
    started: datetime
    seconds: float
    requests: int
    wrong_logins: int
    results: tuple[Result, ...]

    def count(self, level: Level, outcome: Outcome) -> int:
        return sum(result.check.level == level and result.outcome == outcome for result in self.results)

    def conforms(self, *, strict: bool) -> bool:
        """Whether every must holds; strictly, none may have been skipped either."""
        return not self.count("must", "failed") and not (strict and self.count("must", "skipped"))

    @property
    def verdict(self) -> str:
        """The whole run in one line."""
        failed, skipped = self.count("must", "failed"), self.count("must", "skipped")
        parts = [f"musts: {self.count('must', 'passed')} hold, {failed} failed, {skipped} could not be checked"]
        parts.append(f"shoulds: {self.count('should', 'passed')} hold, {self.count('should', 'failed')} failed")
        parts.append(f"{self.requests} requests in {self.seconds:.1f} s")
        return "; ".join(parts)

"""Flags of `cloudconsole serve` for a test console."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path


def serve_flags(
    *,
    cloud: str | Path | None,
    accounts: Mapping[str, str] | None,
    clock: datetime | str | None,
    clock_fixed: bool,
    seed: str | int | None,
    flags: Sequence[str],
) -> list[str]:
    """Return the flags; raise TypeError or ValueError for wrong arguments, instead of starting something else."""
    if cloud is not None and not isinstance(cloud, str | Path):
        raise TypeError("cloud must be the path of a cloud file; for content from Python, call load() of the server")
    if cloud is not None and not Path(cloud).is_file():
        raise ValueError(f"cloud: there is no file {cloud}")
    is_mapping = isinstance(accounts, Mapping | None)
    if not is_mapping or not all(isinstance(text, str) for pair in (accounts or {}).items() for text in pair):
        raise TypeError("accounts must map usernames to passwords, both str")
    if isinstance(flags, str) or not all(isinstance(flag, str) for flag in flags):
        raise TypeError('flags must be a list of str, such as ["--currency", "EUR"]')
    if isinstance(seed, bool) or not isinstance(seed, str | int | None):
        raise TypeError("seed must be a str or int")
    content = ["--sample"] if cloud is None else ["--cloud", str(cloud)]
    times = [*(["--clock", moment_text("clock", clock)] if clock else []), *(["--clock-fixed"] if clock_fixed else [])]
    seeds = ["--seed", str(seed)] if seed is not None else []
    return ["--test-mode", *content, *times, *seeds, *flags]


def moment_text(parameter: str, moment: datetime | str) -> str:
    """Return a time as text; raise an error that names the parameter if it is none."""
    if isinstance(moment, str):
        try:
            datetime.fromisoformat(moment)
        except ValueError:
            raise ValueError(f"{parameter} must be a time such as 2026-11-15T12:00:00Z, not {moment!r}") from None
        return moment
    if not isinstance(moment, datetime):
        raise TypeError(f"{parameter} must be a datetime, or text such as 2026-11-15T12:00:00Z")
    if moment.tzinfo is None:
        raise ValueError(f"{parameter} must have a time zone, such as datetime.now(UTC)")
    return moment.isoformat()

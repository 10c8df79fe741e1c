"""The report for programs; docs/guide/conformance.md has its schema."""

import json
from typing import Any, Final

from cloudconsole.conformance.report.text import LEVELS, OUTCOMES, Run

SCHEMA: Final = 1
"""Moves when a field goes or changes its meaning, not when one is added."""


def json_report(run: Run, *, ok: bool) -> str:
    """`ok` is whether the command ends with 0."""
    return json.dumps(_report(run, ok=ok), ensure_ascii=False, indent=2) + "\n"


def _report(run: Run, *, ok: bool) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": run.version,
        "base_url": run.base,
        "profile": run.profile,
        "started": run.started.isoformat(timespec="seconds"),
        "seconds": round(run.seconds, 3),
        "requests": run.requests,
        "wrong_logins": run.wrong_logins,
        "ok": ok,
        "counts": {level: {outcome: run.count(level, outcome) for outcome in OUTCOMES} for level in LEVELS},
        "checks": [
            {
                "id": result.check.id,
                "profile": result.check.profile,
                "section": result.check.section,
                "level": result.check.level,
                "title": result.check.title,
                "outcome": result.outcome,
                "note": result.note,
                "seconds": round(result.seconds, 3),
            }
            for result in run.results
        ],
    }

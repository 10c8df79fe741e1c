"""Checks of payloads look at what each body form got, and say where it was the second."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from cloudconsole.conformance.checks import Examine, Failed, Skipped
from cloudconsole.conformance.examination import Examination

Look = Callable[[Any], str | None]


def of_payload(action: str) -> Callable[[Look], Examine]:
    """Look at the action's `data`; lists must have something in them."""

    def look_at(data: Any, look: Look) -> str | None:
        if data == []:
            raise Skipped(f"{action} gave an empty list")
        return look(data)

    return _of_each(lambda console: console.payloads(action), look_at)


def of_domains(look: Look) -> Examine:
    """Look at all domains whose ids were given, a list."""
    return _of_each(lambda console: console.domains_by_form(), lambda domains, look: look(domains))(look)


def _of_each(
    find: Callable[[Examination], Iterable[tuple[str, Any]]], look_at: Callable[[Any, Look], str | None]
) -> Callable[[Look], Examine]:
    def checked(look: Look) -> Examine:
        @wraps(look)
        def examine(console: Examination) -> str | None:
            notes: list[str | None] = []
            problems, nothing = [], None
            for label, seen in find(console):
                try:
                    notes.append(look_at(seen, look))
                except Failed as reason:
                    problems.append(f"{label}{reason}")
                except Skipped as reason:
                    nothing = reason
            if problems:
                raise Failed("; ".join(problems))
            if nothing is not None and not notes:
                raise nothing
            return notes[0]

        return examine

    return checked

"""What may come next on a command line: worked out from the parsers themselves, so that nothing is said twice."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cloudconsole.cli.parsing import Parser


class Word(NamedTuple):
    text: str
    help: str = ""


def completed_by(argument: argparse.Action, candidates: Callable[[], Iterable[str]]) -> None:
    """Let an argument be completed with what can be found out only when it is asked for."""
    vars(argument)["candidates"] = candidates


def next_words(words: Sequence[str]) -> list[Word]:
    """What the last word may become, of the words behind `cloudconsole`."""
    from cloudconsole.cli.commands import NeedsServer, command_named, loaded
    from cloudconsole.cli.main import top_parser

    *before, current = words
    if not before:
        found = _next(top_parser(), [], current)
    else:
        command = command_named(before[0])
        try:
            found = _next(loaded(command)[1], before[1:], current) if command else []
        except NeedsServer:
            found = []
    return [word for word in found if word.text.startswith(current)]


def _next(parser: Parser, before: Sequence[str], current: str) -> Iterable[Word]:
    parser.complete()
    by_place = [action for action in parser._actions if not action.option_strings]
    waiting: argparse.Action | None = None
    for number, word in enumerate(before):
        if waiting is not None and not (waiting.nargs == "?" and word.startswith("-")):
            waiting = None
        elif word.startswith("-"):
            flag = parser._option_string_actions.get(word)
            waiting = flag if flag is not None and flag.nargs != 0 else None
        elif by_place:
            if isinstance(by_place[0], argparse._SubParsersAction):
                chosen = by_place[0].choices.get(word)
                return _next(chosen, before[number + 1 :], current) if chosen else []
            if by_place[0].nargs not in ("*", "+"):
                by_place.pop(0)
    if waiting is not None and not (waiting.nargs == "?" and current.startswith("-")):
        return _values(waiting)
    flag_name, equals, _ = current.partition("=")
    if equals and flag_name in parser._option_string_actions:
        return (
            Word(f"{flag_name}={word.text}", word.help) for word in _values(parser._option_string_actions[flag_name])
        )
    values = [] if current.startswith("-") or not by_place else _values(by_place[0])
    return values or _flags(parser)


def _values(action: argparse.Action) -> list[Word]:
    if isinstance(action, argparse._SubParsersAction):
        return [Word(choice.dest, _plain(choice.help)) for choice in action._choices_actions]
    if action.choices is not None:
        return [Word(str(choice)) for choice in action.choices]
    candidates: Any = vars(action).get("candidates", tuple)
    return [Word(text) for text in candidates()]


def _flags(parser: argparse.ArgumentParser) -> Iterator[Word]:
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            for flag in action.option_strings:
                yield Word(flag, _plain(action.help))


def _plain(help_text: str | None) -> str:
    return (help_text or "").replace("%%", "%").replace("\n", " ")

"""The words of the server's commands, for completion: `src/cloudconsole/cli/server_words.json`."""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from cloudconsole.cli.argument_parser import Parser
from cloudconsole.cli.commands import COMMANDS, loaded
from cloudconsole.cli.i18n import current_language, set_language
from cloudconsole.spec.i18n import Language

Words = dict[str, dict[str, Any]]


def server_words() -> str:
    """Return one line for each command, so that changes can be read."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(_with_both(english, chinese), ensure_ascii=False)}"
        for (name, english), chinese in zip(_all_words("en").items(), _all_words("zh").values(), strict=True)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _all_words(language: Language) -> Words:
    words: Words = {}
    previous = current_language()
    for command in COMMANDS:
        if command.needs_server:
            # Again for each command, since some have one language only.
            set_language(language)
            words |= dict(_words(command.name, "", loaded(command)[1]))
    set_language(previous)
    return words


def _with_both(english: dict[str, Any], chinese: dict[str, Any]) -> dict[str, Any]:
    """Merge a command's words: each help text becomes English and Chinese."""
    arguments = [
        {**argument, "help": [argument["help"], other["help"]]}
        for argument, other in zip(english["arguments"], chinese["arguments"], strict=True)
    ]
    return {"help": [english["help"], chinese["help"]], "arguments": arguments}


def _words(name: str, help_text: str | None, parser: Parser) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a command's words, and those of its subcommands."""
    parser.complete()
    arguments = [action for action in parser._actions if not isinstance(action, argparse._SubParsersAction)]
    yield name, {"help": help_text, "arguments": [_argument(action) for action in arguments]}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                yield from _words(f"{name} {choice.dest}", choice.help, action.choices[choice.dest])


def _argument(action: argparse.Action) -> dict[str, Any]:
    candidates = vars(action).get("candidates")
    choices = list(candidates()) if candidates else action.choices
    described = {
        "names": action.option_strings or [action.dest],
        "help": action.help,
        "nargs": action.nargs,
        "choices": [str(choice) for choice in choices] if choices else None,
    }
    return {name: value for name, value in described.items() if value is not None}

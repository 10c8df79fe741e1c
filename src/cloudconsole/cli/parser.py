"""Arguments: what is wrong with them is said in one line, which names the command that they were given to."""

import argparse
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from cloudconsole.cli import messages, stdout
from cloudconsole.cli.i18n import current_language, translate

NEAR: Final = 0.8
"""One letter of a short flag may be wrong, not two."""


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations; its commands' parsers are of this kind, too."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self._has_commands = False
        self.elsewhere: dict[str, str] = {}
        """Flags that one may look for here, and what does it instead."""
        self.more_of: str | None = None
        """A list of arguments that goes on behind flags, which argparse itself would not see."""
        self._to_come: Callable[[Parser], None] | None = None

    def add_when_called(self, add: "Callable[[Parser], None]") -> None:
        """Have the arguments added only when this command is called: of many, one is."""
        self._to_come = add

    def complete(self) -> None:
        """Add the arguments that are still to come."""
        if self._to_come is not None:
            add, self._to_come = self._to_come, None
            add(self)

    def add_subparsers(self, **options: Any) -> Any:
        self._has_commands = True
        return super().add_subparsers(**options)

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Takes all arguments or none: what a command does not know would be told as its parent's mistake."""
        self.complete()
        given = sys.argv[1:] if args is None else list(args)
        self._refuse_unknown_flags(given)
        parsed, rest = super().parse_known_args(given, namespace)
        if self.more_of and not any(word.startswith("-") for word in rest):
            setattr(parsed, self.more_of, [*getattr(parsed, self.more_of), *rest])
            rest = []
        elif rest:
            self.error(translate(messages.NOT_EXPECTED, given=" ".join(rest)))
        return parsed, rest

    def _print_message(self, message: str, file: Any = None) -> None:
        # Help is said wherever there is someone to hear it.
        super()._print_message(message, sys.stderr if file is sys.stdout and stdout.is_closed() else file)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"cloudconsole: {translate(messages.SEE_HELP, problem=message, command=self.prog)}\n")

    def _refuse_unknown_flags(self, arguments: list[str]) -> None:
        """Before anything else is said: with its flag misspelled, a value seems to be missing or out of place."""
        for argument in arguments:
            is_command = self._has_commands and not argument.startswith("-")
            if argument == "--" or is_command:
                return
            flag = argument.partition("=")[0]
            # What has a space in it is a value to argparse, however it begins.
            if flag.startswith("--") and " " not in flag and flag not in self._option_string_actions:
                self.error(translate(messages.NO_SUCH_FLAG, flag=flag) + self._hint(flag))

    def _hint(self, flag: str) -> str:
        if flag in self.elsewhere:
            return translate(messages.DOES_THAT, instead=self.elsewhere[flag])
        near = get_close_matches(flag, self._option_string_actions, 1, cutoff=NEAR)
        if near:
            return translate(messages.DID_YOU_MEAN, near=near[0])
        return translate(messages.FLAGS_STAND_BEHIND) if self._has_commands else ""


def add_completion(argument: argparse.Action, candidates: Callable[[], Iterable[str]]) -> None:
    """Let an argument be completed with what can be found out only when it is asked for."""
    vars(argument)["candidates"] = candidates


def _worded(message: str) -> str:
    return messages.ARGPARSE.get(message, message) if current_language() == "zh" else message


# argparse asks gettext for its words under this name, and gettext takes them from compiled files only.
vars(argparse)["_"] = _worded

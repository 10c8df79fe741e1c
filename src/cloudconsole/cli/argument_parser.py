"""Argument parser that reports an error in one line and names the command it belongs to."""

import argparse
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from cloudconsole.cli import messages, stdout
from cloudconsole.cli.i18n import current_language, translate

NEAR: Final = 0.8
"""Similarity cutoff for suggestions: tolerates one wrong letter in a short flag, not two."""


class Parser(argparse.ArgumentParser):
    """Argument parser without abbreviations; subparsers inherit the class."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self._has_commands = False
        self.elsewhere: dict[str, str] = {}
        """Flags that users may expect here, mapped to the command to use instead."""
        self.more_of: str | None = None
        """A positional list that may continue after flags, which argparse does not support."""
        self._deferred: Callable[[Parser], None] | None = None

    def add_when_called(self, add: "Callable[[Parser], None]") -> None:
        """Defer adding the arguments until this command is called: only one of many is."""
        self._deferred = add

    def complete(self) -> None:
        """Add the deferred arguments."""
        if self._deferred is not None:
            add, self._deferred = self._deferred, None
            add(self)

    def add_subparsers(self, **options: Any) -> Any:
        self._has_commands = True
        return super().add_subparsers(**options)

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Parse all arguments or fail: argparse would report leftovers as an error of the parent parser."""
        self.complete()
        given = sys.argv[1:] if args is None else list(args)
        self._reject_unknown_flags(given)
        parsed, rest = super().parse_known_args(given, namespace)
        if self.more_of and not any(word.startswith("-") for word in rest):
            setattr(parsed, self.more_of, [*getattr(parsed, self.more_of), *rest])
            rest = []
        elif rest:
            self.error(translate(messages.UNEXPECTED_ARGUMENT, given=" ".join(rest)))
        return parsed, rest

    def _print_message(self, message: str, file: Any = None) -> None:
        # With standard output closed, help goes to standard error.
        super()._print_message(message, sys.stderr if file is sys.stdout and stdout.is_closed() else file)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"cloudconsole: {translate(messages.SEE_HELP, problem=message, command=self.prog)}\n")

    def _reject_unknown_flags(self, arguments: list[str]) -> None:
        """Check flags first: after a misspelled flag, its value would be reported as misplaced or missing."""
        for argument in arguments:
            is_command = self._has_commands and not argument.startswith("-")
            if argument == "--" or is_command:
                return
            flag = argument.partition("=")[0]
            # argparse treats anything with a space as a value.
            if flag.startswith("--") and " " not in flag and flag not in self._option_string_actions:
                self.error(translate(messages.UNKNOWN_OPTION, flag=flag) + self._hint(flag))

    def _hint(self, flag: str) -> str:
        if flag in self.elsewhere:
            return translate(messages.USE_INSTEAD, instead=self.elsewhere[flag])
        longer = [known for known in self._option_string_actions if known.startswith(flag)]
        near = longer if len(longer) == 1 else get_close_matches(flag, self._option_string_actions, 1, cutoff=NEAR)
        if near:
            return translate(messages.DID_YOU_MEAN, near=near[0])
        return translate(messages.OPTIONS_AFTER_COMMAND) if self._has_commands else ""


def add_completion(argument: argparse.Action, candidates: Callable[[], Iterable[str]]) -> None:
    """Complete an argument with candidates that are computed on demand."""
    vars(argument)["candidates"] = candidates


def _translate_argparse(message: str) -> str:
    return messages.ARGPARSE.get(message, message) if current_language() == "zh" else message


# argparse looks up its messages through gettext under this name; gettext itself reads compiled catalogs only.
vars(argparse)["_"] = _translate_argparse

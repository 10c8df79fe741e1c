"""`cloudconsole`: select and run a command."""

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Final

from cloudconsole.cli import messages, stdout
from cloudconsole.cli.argument_parser import Parser
from cloudconsole.cli.commands import COMMANDS, HELP, Command, NeedsServer, command_named, loaded, top_parser
from cloudconsole.cli.errors import EXIT_FAILED, EXIT_USAGE, print_error
from cloudconsole.cli.i18n import FLAG, detect_language, set_language, translate
from cloudconsole.cli.paths import PREFIX
from cloudconsole.spec.text_escaping import LONG_LENGTH, escape_and_truncate, is_utf8_encodable

INTERRUPTED: Final = 130
COMPLETING: Final = "__complete"
"""Hidden command, called only by shell completion scripts."""
_NEAR_COMMAND: Final = 0.6
"""Similarity cutoff for suggestions, as there are few commands."""
_OTHER_NAMES: Final = {
    **dict.fromkeys(("quota", "quotas", "limits"), "usage"),
    **dict.fromkeys(("bill", "bills", "billing"), "costs"),
    **dict.fromkeys(("config", "configure"), "profile"),
    "forecast": "costs forecast",
    "signin": "login",
    "signout": "logout",
}
"""What other tools call a command."""
_GENERAL: Final = ("-h", "--help", "--version")
"""Options that belong to no command; they load nothing."""


def main(arguments: Sequence[str] | None = None) -> int:
    stdout.reopen_closed_streams()
    sys.unraisablehook = _repeat_swallowed_interrupt
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with stdout.buffered_stdout():
            return _run(given)
    except stdout.OutputError as problem:
        stdout.discard_output()
        if problem.has_reader:
            sys.stderr.write(f"cloudconsole: output: {problem}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _repeat_swallowed_interrupt(unraisable: "sys.UnraisableHookArgs") -> None:
    """Interrupt again: Python swallows a Ctrl-C that arrives in a finalizer or in a weak reference's callback."""
    if unraisable.exc_type is KeyboardInterrupt:
        import signal
        import threading

        threading.Timer(0.02, signal.pthread_kill, (threading.get_ident(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(unraisable)


def _run(given: list[str]) -> int:
    set_language(detect_language(given, os.environ))
    if given[:1] == [COMPLETING]:
        from cloudconsole.cli.completion import complete

        return complete(given[1:])
    options, given = _command_first(given)
    command = command_named(given[0]) if given else None
    if command is None:
        _reject_unknown_command(given)
        top_parser().parse_args([*chain.from_iterable(options), *given])
        top_parser().print_help()
        return 0
    try:
        module, parser = loaded(command)
    except NeedsServer:
        print_error(translate(messages.NEEDS_SERVER, command=command.name))
        return EXIT_FAILED
    if not (command.has_raw_arguments or all(map(is_utf8_encodable, given))):
        print_error(translate(messages.ARGUMENT_NOT_UTF8))
        return EXIT_USAGE
    _reject_leading(options, command, parser)
    arguments = parser.parse_args([*chain.from_iterable(options), *given[1:]])
    try:
        return int(module.run(arguments))
    except stdout.OutputError:
        raise
    except Exception as fault:
        if command.needs_server or getattr(arguments, "debug", False) or os.environ.get(f"{PREFIX}DEBUG"):
            raise
        print_error(
            translate(
                messages.INTERNAL_ERROR,
                fault=escape_and_truncate(f"{type(fault).__name__}: {fault}", LONG_LENGTH),
                variable=f"{PREFIX}DEBUG",
            )
        )
        return EXIT_FAILED


def _command_first(given: list[str]) -> tuple[list[list[str]], list[str]]:
    """Split off connection options before the command, and turn `help COMMAND` into `COMMAND --help`."""
    options: list[list[str]] = []
    is_help = False
    while given:
        if given[0] == HELP:
            is_help, given = True, given[1:]
        elif given[0].startswith("-") and given[0] not in _GENERAL:
            from cloudconsole.cli.flags import split_leading_options

            leading, given = split_leading_options(given)
            if not leading:
                break
            options += leading
        else:
            break
    if is_help:
        given = [*given, "--help"]
    command = command_named(given[0]) if given else None
    if command is None:
        # Only the language matters to the general help.
        return [option for option in options if _is_language(option)], given
    if command.in_english:
        options = [option for option in options if not _is_language(option)]
    return options, given


def _is_language(option: list[str]) -> bool:
    return option[0].partition("=")[0] == FLAG


def _reject_unknown_command(given: list[str]) -> None:
    if not given or given[0].startswith("-"):
        return
    names = [command.name for command in COMMANDS]
    near = _OTHER_NAMES.get(given[0]) or next(iter(get_close_matches(given[0], names, 1, cutoff=_NEAR_COMMAND)), None)
    hint = translate(messages.DID_YOU_MEAN, near=near) if near else ""
    top_parser().error(translate(messages.UNKNOWN_COMMAND, given=given[0]) + hint)


def _reject_leading(options: list[list[str]], command: Command, parser: Parser) -> None:
    """Reject connection options before a command that has none of this name."""
    for option in options:
        flag = option[0].partition("=")[0]
        known = parser._option_string_actions
        if flag not in known and flag[:2] not in known:
            parser.error(translate(messages.OPTION_NOT_OF_COMMAND, flag=flag, command=command.name))

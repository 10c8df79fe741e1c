"""`cloudconsole completion`: shell scripts and the completions they request."""

import argparse
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from cloudconsole.cli import messages, server_words, stdout
from cloudconsole.cli.argument_parser import Parser, add_completion
from cloudconsole.cli.commands import HELP, Command, command_named, loaded, top_parser
from cloudconsole.cli.flags import add_connection_flags, split_leading_options
from cloudconsole.cli.i18n import FLAG, LANGUAGES, translate
from cloudconsole.spec.text_escaping import escape


class Word(NamedTuple):
    text: str
    help: str = ""
    is_command: bool = False


def completions(words: Sequence[str]) -> list[Word]:
    """Complete the last of the words after `cloudconsole`."""
    *previous, current = words
    return [word for word in _candidates(previous, current) if word.text.startswith(current)]


def _candidates(previous: Sequence[str], current: str) -> Iterable[Word]:
    parser = top_parser()
    if any(word.startswith("-") for word in (*previous[:1], current)):
        # Only then, because it reads the profiles.
        options, given = split_leading_options(previous)
        add_connection_flags(parser, with_language=False)
    else:
        options, given = [], list(previous)
    if not given:
        return _next(parser, list(chain.from_iterable(options)), current)
    if given[0] == HELP:
        return [word for word in _candidates(given[1:], "") if word.is_command]
    command = command_named(given[0])
    return _next(_parser_of(command), given[1:], current) if command else []


_COLUMNS: Final = {
    "whoami": "name value",
    "usage": "quota used limit free unit",
    "flavors": "id name vcpus ram disk",
    "urls": "id type url",
    "domain": "domainId domainName comment serviceAreas serviceType enabled cname status originIps originDomainName "
    "advOriginConfigs cacheBehaviors visitControlRules queryStringSettings",
    "domains": "domainId domainName enabled status serviceType",
    "news": "date url title",
    "costs": "res_type res_id name region hour day month year amount so_far rest total hours_left complete currency",
    "prices": "res_type unit region type price currency start_at end_at in_force",
    "estimate": "res_type what region count hour day month year currency",
    "actions": "action extension purpose",
    "profile": "name default url username region project password_file ca_file output language",
}
"""The columns of each command's table, whose fields are known only with data."""


def _parser_of(command: Command) -> Parser:
    parser = server_words.parser_for(command.name) if command.needs_server else loaded(command)[1]
    if command.name in _COLUMNS:
        add_completion(parser._option_string_actions["--columns"], _COLUMNS[command.name].split)
    return parser


def _next(parser: Parser, previous: Sequence[str], current: str) -> Iterable[Word]:
    parser.complete()
    positionals = [action for action in parser._actions if not action.option_strings]
    pending: argparse.Action | None = None
    for number, word in enumerate(previous):
        if pending is not None and not (pending.nargs == "?" and word.startswith("-")):
            pending = None
        elif word.startswith("-"):
            flag = parser._option_string_actions.get(word)
            pending = flag if flag is not None and flag.nargs != 0 else None
        elif positionals:
            if isinstance(positionals[0], argparse._SubParsersAction):
                chosen = positionals[0].choices.get(word)
                return _next(chosen, previous[number + 1 :], current) if chosen else []
            if positionals[0].nargs not in ("*", "+"):
                positionals.pop(0)
    if pending is not None and not (pending.nargs == "?" and current.startswith("-")):
        return _values(pending, current)
    flag_name, equals, value = current.partition("=")
    flag = parser._option_string_actions.get(flag_name)
    if equals and flag is not None:
        return (Word(f"{flag_name}={word.text}", word.help) for word in _values(flag, value))
    values = [] if current.startswith("-") or not positionals else _values(positionals[0])
    return values or _flags(parser)


def _values(action: argparse.Action, current: str = "") -> list[Word]:
    if isinstance(action, argparse._SubParsersAction):
        return [Word(choice.dest, _plain(choice.help), is_command=True) for choice in action._choices_actions]
    if action.choices is not None:
        return [Word(str(choice)) for choice in action.choices]
    candidates: Any = vars(action).get("candidates", tuple)
    if action.dest == "columns":
        chosen, comma, _ = current.rpartition(",")
        return [Word(f"{chosen}{comma}{name}") for name in candidates() if name not in chosen.split(",")]
    return [Word(text) for text in candidates()]


def _flags(parser: argparse.ArgumentParser) -> Iterator[Word]:
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            for flag in action.option_strings:
                yield Word(flag, _plain(action.help))


def _plain(help_text: str | None) -> str:
    return (help_text or "").replace("%%", "%").replace("\n", " ")


BASH: Final = """\
_cloudconsole() {
    local line word
    COMPREPLY=()
    while IFS= read -r line; do
        printf -v word %q "$line"
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" __complete bash "${COMP_WORDS[0]}" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o default -F _cloudconsole cloudconsole
"""

ZSH: Final = """\
#compdef cloudconsole
_cloudconsole() {
    local line word
    local -a found
    for line in "${(@f)$("${(Q)words[1]}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n "$line" ]] || continue
        word="${line%%$'\\t'*}"
        found+=("${word//:/\\\\:}:${line#*$'\\t'}")
    done
    if (( $#found )); then
        _describe cloudconsole found
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_cloudconsole" ]; then
    _cloudconsole "$@"
else
    compdef _cloudconsole cloudconsole
fi
"""

FISH: Final = """\
function __cloudconsole_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($before[1] __complete fish $before[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c cloudconsole -f -a '(__cloudconsole_complete)'
"""

SCRIPTS: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def complete(given: Sequence[str]) -> int:
    """Print completions for a script, given the shell's name and the words up to the cursor."""
    shell, *words = given or [""]
    if shell == "bash" and len(words) == 2:
        words = _words_of_line(*words)
    for word in completions(words or [""]):
        if shell == "bash":
            stdout.write(f"{_after_break(words[-1], word.text)}\n")
        else:
            stdout.write(f"{word.text}\t{escape(word.help)}\n")
    return 0


def _words_of_line(program: str, line: str) -> list[str]:
    """Split the line without bash's word breaks at colons and equals signs."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        # An unclosed quote.
        words = line.split()
    if not words or line[-1].isspace():
        words.append("")
    return words[words.index(program) + 1 :] if program in words[:-1] else [words[-1]]


def _after_break(current: str, word: str) -> str:
    """Return the part that readline inserts after the last equals sign or colon."""
    return word[max(current.rfind("="), current.rfind(":")) + 1 :]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SCRIPTS, help=translate(messages.SHELL_ARGUMENT))
    parser.add_argument(FLAG, choices=LANGUAGES, help=translate(messages.LANG_FLAG))


def run(arguments: argparse.Namespace) -> int:
    stdout.write(SCRIPTS[arguments.shell])
    return 0

"""The scripts for the shells: each asks `cloudconsole __complete` for words, and offers files where there are none."""

import shlex
from collections.abc import Sequence
from typing import Final

from cloudconsole.cli import output
from cloudconsole.cli.completion.words import next_words
from cloudconsole.spec.text import visible

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
    """Answer a script: the shell's name, then the words up to the one that is being typed."""
    shell, *words = given or [""]
    if shell == "bash" and len(words) == 2:
        words = _words_of_line(*words)
    for word in next_words(words or [""]):
        if shell == "bash":
            output.write(f"{_after_break(words[-1], word.text)}\n")
        else:
            output.write(f"{word.text}\t{visible(word.help)}\n")
    return 0


def _words_of_line(program: str, line: str) -> list[str]:
    """bash itself would cut words at colons and equals signs."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        # A quote that is still open.
        words = line.split()
    if not words or line[-1].isspace():
        words.append("")
    return words[words.index(program) + 1 :] if program in words[:-1] else [words[-1]]


def _after_break(current: str, word: str) -> str:
    """What readline puts in the place of the part behind the last equals sign or colon."""
    return word[max(current.rfind("="), current.rfind(":")) + 1 :]

"""The settings explained, each time from their one declaration: flags with help, the sample file, the document."""

import argparse
import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from cloudconsole.server.setting_kinds import Switch
from cloudconsole.server.settings import CLIENT_VARIABLES, CONFIG_FLAG, CONFIG_VARIABLE, SETTINGS, Setting

_SAMPLE_HEAD: Final = f"""\
# Settings of Cloud Console. Each line that begins with "#" and no space after it is a setting at its default:
# take the "#" away and change it. Environment variables and flags go before this file.
# Give it with {CONFIG_FLAG} FILE or {CONFIG_VARIABLE}=FILE.
"""

_DOCUMENT_HEAD: Final = f"""\
# Settings

<!-- Written by tools/write_documents.py from the settings themselves. -->

Every setting has a default. Over it goes the settings file, over that an environment variable, and over all a flag:
`port = 9000` in the file, `CLOUDCONSOLE_PORT=9000`, `--port 9000`. The others are formed alike: `public_origin`,
`CLOUDCONSOLE_PUBLIC_ORIGIN`, `--public-origin`.

The file is TOML; `{CONFIG_FLAG} FILE` or `{CONFIG_VARIABLE}` names it, and none is read where neither is given.
`cloudconsole serve --print-config > cloudconsole.toml` writes [one to start from](cloudconsole.toml), with each
setting at its default. In the file a list is an array (`hosts = ["a.example", "b.example"]`); in a variable or a flag
its items are separated by commas. Paths are taken from the folder that the console is started in.

What is wrong is refused at start, each on a line that names it and the mend; so is a setting that does not exist.
These variables are for those who call a console, and the server passes them over:
{", ".join(f"`{name}`" for name in sorted(CLIENT_VARIABLES))}.
"""

_DOCUMENT_TAIL: Final = """\
## Identity endpoints

Each has an `address`, which login accepts as region, and a `kind`. The kind is `local`: the accounts are the
console's own. In the file:

```toml
[[identity]]
address = "https://identity.example.com/v3"
kind = "local"
```

In TOML all that follows such a table belongs to it, so these stand at the end of the file. In a variable or a flag
only the addresses are given, and all are local.
"""


def add_setting_flags(parser: argparse.ArgumentParser) -> None:
    """A flag for every setting, in groups."""
    for group, settings in _groups():
        flags = parser.add_argument_group(group)
        for setting in settings:
            given: dict[str, Any] = {"nargs": "?", "const": "true"} if isinstance(setting.kind, Switch) else {}
            flags.add_argument(setting.flag, metavar=setting.kind.metavar, help=_help(setting), **given)


def sample_file() -> str:
    """A settings file with every setting at its default, commented out."""
    lines = [_SAMPLE_HEAD]
    for group, settings in _groups():
        lines += [f"# ---- {group} ----", ""]
        for setting in settings:
            lines += [f"# {setting.help}", f"# ({setting.kind.wanted})", *_sample_lines(setting), ""]
    return "\n".join(lines)


def settings_document() -> str:
    """`docs/settings.md`."""
    lines = [_DOCUMENT_HEAD]
    for group, settings in _groups():
        lines += [f"## {group}", "", "| setting | default | may be | meaning |", "|---|---|---|---|"]
        for setting in settings:
            default = "none" if setting.default is None else f"`{_toml(setting.default)}`"
            lines.append(f"| `{setting.name}` | {default} | {setting.kind.wanted} | {setting.help} |")
        lines.append("")
    return "\n".join([*lines, _DOCUMENT_TAIL])


def _groups() -> Iterator[tuple[str, Iterator[Setting]]]:
    return groupby(SETTINGS.values(), key=lambda setting: setting.group)


def _help(setting: Setting) -> str:
    notes = [] if isinstance(setting.kind, Switch) else [setting.kind.wanted]
    if setting.default not in (None, ()):
        notes.append("default: " + _toml(setting.default).strip('"'))
    return f"{setting.help} ({'; '.join(notes)})"


def _sample_lines(setting: Setting) -> list[str]:
    example = f"# for example: {setting.name} = {_toml(setting.kind.example)}"
    if setting.default is None:
        return [example]
    line = f"#{setting.name} = {_toml(setting.default)}"
    return [example, line] if setting.default == () else [line]


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)

"""One script of all modules that a page imports, so that a browser needs a single request for them.

The sources stay ES modules with named imports and exports. Each becomes a function of the bundle, in the order of its
imports; anything else, such as a cycle, is an error.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Final

_IMPORT: Final = re.compile(
    r"""^import \s (?: \* \s as \s (?P<namespace>\w+) | \{ (?P<names>[\w\s,]*) \} ) \s from \s "(?P<path>[^"]+)";\n""",
    re.MULTILINE | re.VERBOSE,
)
_RENAMED: Final = re.compile(r"\s+as\s+")
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_OTHER: Final = re.compile(r"^\s*(?:import|export)\b.*|import\.meta|\bimport\(", re.MULTILINE)


class BundleError(Exception):
    """The modules cannot be bundled."""


def bundle(contents: Mapping[str, bytes], entry: str) -> bytes:
    """Return the module `entry` and all that it imports as one module."""
    functions: dict[str, str] = {}
    _add(contents, entry, functions, ())
    return "".join(functions.values()).encode()


def _add(contents: Mapping[str, bytes], path: str, functions: dict[str, str], importers: tuple[str, ...]) -> None:
    """Add the functions of a module's imports, then its own."""
    if path in importers:
        raise BundleError(f"modules import each other: {' -> '.join((*importers, path))}")
    if path in functions:
        return
    if path not in contents:
        raise BundleError(f"{importers[-1:]} imports {path}, which does not exist")
    source = contents[path].decode()
    imports: list[str] = []
    for found in _IMPORT.finditer(source):
        imported = posixpath.normpath(posixpath.join(posixpath.dirname(path), found["path"]))
        _add(contents, imported, functions, (*importers, path))
        names = found["namespace"] or "{" + _RENAMED.sub(": ", found["names"]) + "}"
        imports.append(f"const {names} = {_variable(imported)};\n")
    body = _EXPORT.sub("", _IMPORT.sub("", source))
    if other := _OTHER.search(body):
        raise BundleError(f"{path}: cannot be bundled: {other[0].strip()}")
    exports = ", ".join(_EXPORT.findall(source))
    functions[path] = (
        f"// {path}\nconst {_variable(path)} = (() => {{\n{''.join(imports)}{body}return {{{exports}}};\n}})();\n"
    )


def _variable(path: str) -> str:
    return "$" + re.sub(r"\W", "_", path)

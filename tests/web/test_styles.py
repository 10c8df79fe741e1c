"""The styles of the tenant pages: shell.css and pages.css do not share class names by accident."""

import re
from importlib.resources import files

WEB = files("cloudconsole") / "web"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CLASS = re.compile(r"\.([a-z][\w-]*)(?=[^{};]*\{)")


def _classes(path: str) -> set[str]:
    return set(_CLASS.findall(_COMMENT.sub("", WEB.joinpath(path).read_text())))


def test_shell_and_pages_share_only_the_classes_of_the_theme() -> None:
    shell, pages, theme = (_classes(path) for path in ("console/shell.css", "console/pages.css", "theme.css"))
    assert min(len(shell), len(pages), len(theme)) > 10
    assert shell & pages - theme == set()

"""The styles of the tenant pages: what is styled for the frame is not, by a like name, styled again for a page."""

import re
from importlib.resources import files

WEB = files("cloudconsole") / "web"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CLASS = re.compile(r"\.([a-z][\w-]*)(?=[^{};]*\{)")


def _classes(path: str) -> set[str]:
    return set(_CLASS.findall(_COMMENT.sub("", WEB.joinpath(path).read_text())))


def test_the_frame_and_the_pages_share_only_the_names_of_the_theme() -> None:
    frame, pages, theme = (_classes(path) for path in ("console/shell.css", "console/pages.css", "theme.css"))
    assert min(len(frame), len(pages), len(theme)) > 10
    assert frame & pages - theme == set()

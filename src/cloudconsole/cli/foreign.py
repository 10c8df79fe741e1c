"""Words of a console within a text of ours: they neither control a terminal nor fill it."""

from typing import Final

from cloudconsole.spec.visible import visible

SHORT: Final = 40
LONG: Final = 1000


def foreign(text: object, most: int = SHORT) -> str:
    """On one line, and of so many characters at the most."""
    # Cut before, too: a console may send very much.
    shown = visible(str(text)[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"

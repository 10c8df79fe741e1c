"""Write all generated documents; with `--check`, only list outdated ones and fail if there are any."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cloudconsole.server.config.docs import sample_file, settings_document
from tools.record_examples import recorded_examples
from tools.reference_docs import actions_page, conformance_page, errors_page
from tools.server_words import server_words

ROOT: Final = Path(__file__).parents[1]

DOCUMENTS: Final[dict[str, Callable[[], str]]] = {
    "src/cloudconsole/server/openapi/examples.json": recorded_examples,
    "src/cloudconsole/cli/server_words.json": server_words,
    "docs/reference/actions.md": actions_page,
    "docs/reference/errors.md": errors_page,
    "docs/reference/settings.md": settings_document,
    "docs/reference/cloudconsole.toml": sample_file,
    "docs/reference/conformance.md": conformance_page,
}
"""Order matters: the pages include the recorded examples."""


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.stderr.write("usage: python -m tools.build_docs [--check]\n")
        return 2
    differing = [name for name, make in DOCUMENTS.items() if _renew(ROOT / name, make(), write=not check)]
    for name in differing:
        sys.stdout.write(f"{name}: {'differs; run: make docs' if check else 'written'}\n")
    return 1 if check and differing else 0


def _renew(file: Path, text: str, *, write: bool) -> bool:
    """Return whether the file differs from the text; if so and `write` is set, write it."""
    differs = not file.exists() or file.read_text("utf-8") != text
    if differs and write:
        file.write_text(text, "utf-8")
    return differs


if __name__ == "__main__":
    sys.exit(main())

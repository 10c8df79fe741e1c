"""Write the documents that are generated from the code; with --check, only tell which of them differ."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cloudconsole.server.settings_text import sample_file, settings_document

ROOT: Final = Path(__file__).parents[1]

DOCUMENTS: Final[dict[str, Callable[[], str]]] = {
    "docs/settings.md": settings_document,
    "docs/cloudconsole.toml": sample_file,
}


def differing() -> list[str]:
    """The documents that are not what the code gives."""
    return [path for path, write in DOCUMENTS.items() if _content(ROOT / path) != write()]


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: write_documents.py [--check]\n")
        return 2
    for path in differing():
        if arguments:
            sys.stdout.write(f"{path} differs: python tools/write_documents.py mends it\n")
        else:
            (ROOT / path).write_text(DOCUMENTS[path](), encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")
    return 1 if arguments and differing() else 0


def _content(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Code blocks of the documents."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of a document, given by its path, in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)

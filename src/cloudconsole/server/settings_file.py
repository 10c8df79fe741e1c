"""Reading a settings file: TOML, a value for each setting that it names."""

import tomllib
from pathlib import Path
from typing import Any


def read_settings_file(file: Path) -> dict[str, Any]:
    """What the file says, unchecked; a ValueError's text names the file and says in one line why it cannot be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise ValueError(f"{file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file}: this is not UTF-8 text") from None
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{file}: this is not TOML: {problem}") from None

"""Parse the Containerfile."""

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "deploy/container/Containerfile"
IGNORE: Final = FILE.parent / ".containerignore"


class Step(NamedTuple):
    instruction: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words of an exec-form array."""
        words: list[str] = json.loads(self.text[self.text.index("[") :])
        return words


def read_steps() -> list[list[Step]]:
    """Return the steps of each stage; a stage begins with `FROM`."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    steps = [Step(*line.split(maxsplit=1)) for line in lines if line.strip()]
    starts = [number for number, step in enumerate(steps) if step.instruction == "FROM"]
    return [steps[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


BUILD, FINAL = read_steps()


def only(stage: list[Step], instruction: str) -> Step:
    (step,) = (step for step in stage if step.instruction == instruction)
    return step


def environment() -> dict[str, str]:
    """Environment variables of the image."""
    return dict(pair.split("=", 1) for pair in only(FINAL, "ENV").text.split())

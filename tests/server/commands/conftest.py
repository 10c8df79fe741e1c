"""Commands called in this process: the same code as in one of their own, many times quicker."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cloudconsole.cli.main import main
from tests.stores import flags_of


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def cloudconsole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `cloudconsole` with these arguments, without a terminal; `stdin` is what it can read."""
    for name in [name for name in os.environ if name.startswith("CLOUDCONSOLE_")]:
        monkeypatch.delenv(name)

    def run(*arguments: object, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        given = [str(argument) for argument in arguments]
        if "--data" in given:
            given += flags_of(Path(given[given.index("--data") + 1]))
        code = main(given)
        return Done(code, *capsys.readouterr())

    return run

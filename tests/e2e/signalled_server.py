"""A server that gets a signal during its start; in its own module, which a forked process imports quickly."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from cloudconsole.cli.main import main
from cloudconsole.server.app import Console
from cloudconsole.server.runtime import worker


def serve_with_signal_in_finalizer(folder: Path, sig: signal.Signals) -> None:
    """Run `serve` in this process, which gets the signal in a finalizer during its start; log to a file."""

    class Finalized:
        def __del__(self) -> None:
            os.kill(os.getpid(), sig)

    class SignallingConsole(Console):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            Finalized()
            super().__init__(*arguments, **options)

    setattr(worker, "Console", SignallingConsole)  # noqa: B010
    with (folder / "log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.exit(main(["serve", "--port", "0", "--data", str(folder / "data")]))

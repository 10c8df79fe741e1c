"""What tests run in forked processes; in its own module, which those import quickly."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from cloudconsole.cli.main import main
from cloudconsole.operator.entities import NODES, RESOURCES
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.app import Console
from cloudconsole.server.runtime import worker
from cloudconsole.store.sqlite.engine import open_engine


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


def write_resources(folder: Path, prefix: str, report: Path) -> None:
    """Add and end resources, one per transaction, until killed; write a line to the report after each commit."""
    engine = open_engine(folder, "cloud")
    with operator_transaction(engine, actor="tests", now=0) as transaction:
        node = NODES.list(transaction)[0]["name"]
    number = 0
    with report.open("w", buffering=1) as output:
        while True:
            number += 1
            name = f"{prefix}-{number}"
            values = {"tenant": "demo", "id": name, "kind": "volume", "name": name, "node": node, "size": number}
            with operator_transaction(engine, actor="tests", now=int(time.time()), force=True) as transaction:
                RESOURCES.add(transaction, values)
            output.write(f"recorded {name}\n")
            if number % 3 == 0:
                with operator_transaction(engine, actor="tests", now=int(time.time())) as transaction:
                    RESOURCES.end(transaction, name)
                output.write(f"ended {name}\n")

"""Add and end resources, one per transaction, in a process that a test kills."""

import time
from pathlib import Path

from cloudconsole.operator.entities import NODES, RESOURCES
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.sqlite.engine import open_engine


def write_resources(folder: Path, prefix: str, report: Path) -> None:
    """Write a line to the report after each commit; the ids of new resources begin with the prefix."""
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

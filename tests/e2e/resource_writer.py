"""Add and end resources, one per transaction, and print a line after each commit; for a test that kills it.

Arguments: the data directory and a prefix for the ids of new resources.
"""

import sys
import time
from pathlib import Path

from cloudconsole.operator.entities import NODES, RESOURCES
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.sqlite.engine import open_engine


def main(folder: Path, prefix: str) -> None:
    engine = open_engine(folder, "cloud")
    with operator_transaction(engine, actor="tests", now=0) as transaction:
        node = NODES.list(transaction)[0]["name"]
    number = 0
    while True:
        number += 1
        name = f"{prefix}-{number}"
        values = {"tenant": "demo", "id": name, "kind": "volume", "name": name, "node": node, "size": number}
        with operator_transaction(engine, actor="tests", now=int(time.time()), force=True) as transaction:
            RESOURCES.add(transaction, values)
        print("recorded", name, flush=True)
        if number % 3 == 0:
            with operator_transaction(engine, actor="tests", now=int(time.time())) as transaction:
                RESOURCES.end(transaction, name)
            print("ended", name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""Records and ends resources, a transaction each, and says so after every commit; for a test that kills it.

Arguments: the data folder and a prefix for the new resources' ids.
"""

import sys
import time
from pathlib import Path

from cloudconsole.operator.entities import NODES, RESOURCES
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.sqlite.engine import open_engine


def main(folder: Path, prefix: str) -> None:
    engine = open_engine(folder, "cloud")
    with operator_transaction(engine, actor="tests", now=0) as desk:
        node = NODES.list(desk)[0]["name"]
    number = 0
    while True:
        number += 1
        name = f"{prefix}-{number}"
        values = {"tenant": "demo", "id": name, "kind": "volume", "name": name, "node": node, "size": number}
        with operator_transaction(engine, actor="tests", now=int(time.time()), force=True) as desk:
            RESOURCES.add(desk, values)
        print("recorded", name, flush=True)
        if number % 3 == 0:
            with operator_transaction(engine, actor="tests", now=int(time.time())) as desk:
                RESOURCES.end(desk, name)
            print("ended", name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

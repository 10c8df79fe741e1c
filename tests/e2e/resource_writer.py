"""Records and ends resources, a transaction each, and says so after every commit; for a test that kills it.

Arguments: the data folder and a prefix for the new resources' ids.
"""

import sys
import time
from pathlib import Path

from sqlalchemy import select

from cloudconsole.operator.resources import end_resource, record_resource
from cloudconsole.store.engine import open_engine
from cloudconsole.store.tables import nodes, tenants


def main(folder: Path, prefix: str) -> None:
    engine = open_engine(folder, "cloud")
    with engine.connect() as connection:
        tenant = connection.scalar(select(tenants.c.id).where(tenants.c.name == "demo"))
        node = connection.scalar(select(nodes.c.id).order_by(nodes.c.id).limit(1))
    assert tenant is not None
    number = 0
    while True:
        number += 1
        name, now = f"{prefix}-{number}", int(time.time())
        with engine.begin() as connection:
            record_resource(
                connection,
                resource_id=name,
                tenant_id=tenant,
                kind="volume",
                name=name,
                node_id=node,
                started_at=now,
                size_gb=number,
            )
        print("recorded", name, flush=True)
        if number % 3 == 0:
            with engine.begin() as connection:
                end_resource(connection, name, at=now)
            print("ended", name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

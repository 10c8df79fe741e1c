"""A constant response through the console's own connection: `python -m bench.bare_connection PORT`."""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

import uvloop

from cloudconsole.server.http.connection import Connection, Connections
from cloudconsole.server.http.request import Request, RequestSequence
from cloudconsole.server.http.response import JSON, Response
from cloudconsole.server.metrics.shared_memory import standalone_metrics

RESPONSE = Response(body=Path(os.environ["BENCH_BODY"]).read_bytes(), content_type=JSON)


async def respond(_request: Request) -> Response:
    return RESPONSE


async def serve(port: int) -> None:
    connections = Connections(respond, 30, 1000, RequestSequence(), standalone_metrics())
    await asyncio.get_running_loop().create_server(partial(Connection, connections), "127.0.0.1", port)
    while True:
        connections.tick()
        await asyncio.sleep(1)


uvloop.run(serve(int(sys.argv[1])))

"""A bare ASGI application: reads the request body and always sends the same response."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

Message = MutableMapping[str, Any]

BODY = Path(os.environ["BENCH_BODY"]).read_bytes()
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))],
}
RESPONSE = {"type": "http.response.body", "body": BODY}


async def app(
    _scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    while (await receive()).get("more_body"):
        pass
    await send(START)
    await send(RESPONSE)

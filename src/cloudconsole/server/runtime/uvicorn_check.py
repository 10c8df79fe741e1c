"""Private API of uvicorn that the console uses: a renamed method would silently disable a limit."""

from typing import Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from cloudconsole.core.private_api_check import require_names
from cloudconsole.server.runtime.worker import DrainingServer
from cloudconsole.server.test_mode.faults import DroppableProtocol

VERSIONS: Final = ">=0.54,<0.55"
"""Same as in pyproject.toml."""

USED: Final = {
    HttpToolsProtocol: (
        *("config", "connections", "cycle", "expect_100_continue", "flow", "headers", "loop", "parser", "pipeline"),
        *("scheme", "server_state", "timeout_keep_alive", "timeout_keep_alive_task", "transport", "url"),
        "_unset_keepalive_if_required",
    ),
    RequestResponseCycle: (
        *("body", "default_headers", "disconnected", "flow", "keep_alive", "message_event", "more_body"),
        *("on_response", "response_complete", "response_started", "run_asgi", "scope", "transport"),
    ),
    uvicorn.Server: ("serve", "should_exit"),
}


def require_uvicorn() -> None:
    require_names("uvicorn", VERSIONS, (DroppableProtocol, DrainingServer), USED)

"""Start and control a console for tests, with any test framework.

    with running_console() as server:
        server.fault("unavailable", times=2)
        ...

It needs the `server` extra. With pytest, use the fixtures of the plugin instead.
"""

from cloudconsole.testing.in_process import in_process_console
from cloudconsole.testing.journal import ReceivedRequest, ReceivedRequests
from cloudconsole.testing.process import running_console
from cloudconsole.testing.server import ConsoleServer, ServerNotStarted

__all__ = [
    "ConsoleServer",
    "ReceivedRequest",
    "ReceivedRequests",
    "ServerNotStarted",
    "in_process_console",
    "running_console",
]

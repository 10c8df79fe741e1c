"""A port that another program has taken."""

import socket
from typing import Final

from cloudconsole.server.doctor.findings import Case, Finding, problem
from cloudconsole.server.doctor.processes import listener_on
from cloudconsole.server.net import reachable
from cloudconsole.server.runtime.worker import ListenError, bind

_MOST_TRIES: Final = 100


def taken_port(case: Case, setting: str, host: str, port: int) -> Finding:
    """Report the program that listens there, and name a free port."""
    process = listener_on(port)
    free = _free_port(host, port)
    value = str(free) if setting == "port" else f"[{host}]:{free}" if ":" in host else f"{host}:{free}"
    return problem(
        f"{reachable(host)}:{port}, the address of {setting}, is taken by {process or 'another program'}: "
        "the console cannot listen there",
        f"stop that program, or set {setting} to a free address, such as {value}, and give doctor the same",
        case.command("serve", **{setting: value}),
    )


def _free_port(host: str, port: int) -> int:
    for candidate in range(port + 1, min(port + _MOST_TRIES, 65536)):
        try:
            bind(host, candidate).close()
        except ListenError:
            continue
        return candidate
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])

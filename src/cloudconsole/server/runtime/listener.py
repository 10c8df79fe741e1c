"""The end of a listening socket: no connection that the kernel has completed is reset.

Closing a listening socket resets the connections in its accept queue. To accept until the queue is empty is not
enough, since another connection can complete between the last accept and the close. So new handshakes stop first.
"""

import ctypes
import select
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

_SO_ATTACH_FILTER: Final = 26
# Classic BPF over a packet from its TCP header on: drop it if SYN is set, else take it whole.
_DROP_SYN: Final = (
    (0x30, 0, 0, 13),  # load byte 13: the flags
    (0x45, 0, 1, 0x02),  # unless SYN is set, skip one instruction
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFFFFFF),  # take
)


def stop_handshakes(listener: socket.socket) -> None:
    """Let the kernel ignore new SYNs, in all processes that share the socket; handshakes under way still complete.

    A client repeats its SYN after a second and then meets a closed port, or the next console. Where the system has no
    socket filters, a connection that completes in the microseconds before the close is still reset.
    """
    if sys.platform != "linux":
        return
    instructions = b"".join(struct.pack("HBBI", *instruction) for instruction in _DROP_SYN)
    buffer = ctypes.create_string_buffer(instructions)
    program = struct.pack("HP", len(_DROP_SYN), ctypes.addressof(buffer))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def has_pending(listener: socket.socket) -> bool:
    """Whether a completed connection waits to be accepted."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return bool(poll.poll(0))

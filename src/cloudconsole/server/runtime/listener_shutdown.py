"""Graceful close of a listening socket, without resetting connections that the kernel has completed.

Closing a listening socket resets the connections in its accept queue. Accepting until the queue is empty is not
enough, because another connection can complete between the last accept and the close. So new handshakes stop first.
"""

import ctypes
import select
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

_SO_ATTACH_FILTER: Final = 26
# Classic BPF on a packet from its TCP header on: drop it if SYN is set, else accept it.
_DROP_SYN: Final = (
    (0x30, 0, 0, 13),  # load byte 13: the flags
    (0x45, 0, 1, 0x02),  # unless SYN is set, skip one instruction
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFFFFFF),  # accept
)


def stop_handshakes(listener: socket.socket) -> None:
    """Make the kernel ignore new SYNs, for all processes that share the socket; running handshakes still complete.

    A client repeats its SYN after a second and then finds a closed port, or the next console. Without socket filters, a
    connection that completes in the microseconds before the close is still reset.
    """
    if sys.platform != "linux":
        return
    instructions = b"".join(struct.pack("HBBI", *instruction) for instruction in _DROP_SYN)
    buffer = ctypes.create_string_buffer(instructions)
    program = struct.pack("HP", len(_DROP_SYN), ctypes.addressof(buffer))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def has_pending(listener: socket.socket) -> bool:
    """Return whether a completed connection is waiting to be accepted."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return bool(poll.poll(0))

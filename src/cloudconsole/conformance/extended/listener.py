"""A listener on loopback that shows whether a console connects to an address that it was sent."""

import socket
import threading
from ipaddress import ip_address
from types import TracebackType
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether the host of a URL is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Listener:
    """Context manager that accepts connections on loopback and closes them."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._address = self._listener.getsockname()
        self._last = ("", 0)
        self._accepted = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> "Listener":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._address[1]}"

    def accepted(self) -> int:
        """Stop listening and return how many connections were opened until now."""
        # Connections are accepted in order, so that this one comes after all others.
        with socket.socket() as last:
            last.bind(("127.0.0.1", 0))
            self._last = last.getsockname()
            last.connect(self._address)
            self._thread.join()
        return self._accepted

    def _accept(self) -> None:
        while True:
            try:
                connection, peer = self._listener.accept()
            except OSError:
                return
            connection.close()
            if peer == self._last:
                return
            self._accepted += 1

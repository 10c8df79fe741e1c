"""nginx with one worker that serves the same bytes from files, for any method: an upper bound."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from bench.servers import Server, free_port, run_server

PROGRAM: Final = Path("/usr/sbin/nginx")

_CONFIGURATION: Final = """
{user}
worker_processes 1;
pid {directory}/pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=100 inactive=600s;
    open_file_cache_valid 600s;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    default_type application/json;
    {servers}
}}
"""
# nginx rejects POST to a file with 405; error_page turns that into the file.
_SERVER: Final = """
    server {{
        listen 127.0.0.1:{port};
        root {directory};
        error_page 405 =200 /{number}.json;
        location / {{ rewrite ^ /{number}.json break; }}
    }}
"""


@contextmanager
def nginx(bodies: Mapping[str, bytes]) -> Iterator[dict[str, Server]]:
    """Run one nginx with a port for each body."""
    with tempfile.TemporaryDirectory(prefix="bench-nginx-") as name:
        directory = Path(name)
        ports = {body: free_port() for body in bodies}
        for number, body in enumerate(bodies.values()):
            (directory / f"{number}.json").write_bytes(body)
        servers = (
            _SERVER.format(port=port, directory=directory, number=each) for each, port in enumerate(ports.values())
        )
        user = "user root;" if os.geteuid() == 0 else ""
        (directory / "nginx.conf").write_text(
            _CONFIGURATION.format(directory=directory, user=user, servers="".join(servers))
        )
        command = ["-e", "stderr", "-p", name, "-c", str(directory / "nginx.conf"), "-g", "daemon off;"]
        with run_server("nginx", command, next(iter(ports.values())), program=PROGRAM) as server:
            yield {body: msgspec.structs.replace(server, port=port) for body, port in ports.items()}

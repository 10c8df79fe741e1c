"""nginx with one worker, which serves given bytes from files, whatever the method: about as fast as anything can."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from bench.servers import Server, free_port, started

PROGRAM: Final = Path("/usr/sbin/nginx")

_CONFIGURATION: Final = """
{user}
worker_processes 1;
pid {folder}/pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=100 inactive=600s;
    open_file_cache_valid 600s;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    default_type application/json;
    {servers}
}}
"""
# A file is not posted to: nginx refuses it, and the refusal is made the file.
_SERVER: Final = """
    server {{
        listen 127.0.0.1:{port};
        root {folder};
        error_page 405 =200 /{number}.json;
        location / {{ rewrite ^ /{number}.json break; }}
    }}
"""


@contextmanager
def nginx(bodies: Mapping[str, bytes]) -> Iterator[dict[str, Server]]:
    """One nginx for all, with a port for each body."""
    with tempfile.TemporaryDirectory(prefix="bench-nginx-") as name:
        folder = Path(name)
        ports = {body: free_port() for body in bodies}
        for number, body in enumerate(bodies.values()):
            (folder / f"{number}.json").write_bytes(body)
        servers = (_SERVER.format(port=port, folder=folder, number=each) for each, port in enumerate(ports.values()))
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(_CONFIGURATION.format(folder=folder, user=user, servers="".join(servers)))
        command = ["-e", "stderr", "-p", name, "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
        with started("nginx", command, next(iter(ports.values())), program=PROGRAM) as server:
            yield {body: msgspec.structs.replace(server, port=port) for body, port in ports.items()}

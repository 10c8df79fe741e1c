"""nginx with TLS in front of replicas, with the configuration file that operators deploy."""

import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from cluster.certificates import make_certificate
from cluster.errors import ClusterError
from cluster.processes import ProcessTree
from cluster.server import HOST, Server, free_port

CONFIG_FILE: Final = Path(__file__).parents[1] / "deploy/nginx/cloudconsole.conf"
PROGRAM: Final = "/usr/sbin/nginx"
START_SECONDS: Final = 30

# The main configuration around it, like Debian's nginx.conf but with all paths in the server's folder.
MAIN_CONFIG: Final = """
{user}daemon off;
worker_processes 2;
worker_rlimit_nofile 20000;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 8192; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
    include {folder}/cloudconsole.conf;
}}
"""


class Nginx(Server):
    """nginx; its URL is known before it starts, so that `base` can be set as the consoles' `public_origin`.

    Without a `certificate` (certificate and key) it creates its own. `limits=False` lifts rate and connection limits.
    """

    stop_signal = signal.SIGQUIT

    def __init__(
        self,
        replicas: Sequence[str],
        *,
        folder: Path | None = None,
        name: str = "nginx",
        certificate: tuple[Path, Path] | None = None,
        limits: bool = True,
    ) -> None:
        """`replicas` are base URLs such as `http://127.0.0.1:8000`."""
        super().__init__(name, folder)
        self.replicas = list(replicas)
        """Changes apply from the next start."""
        self.plain_port = free_port()
        self.certificate, self._key = certificate or make_certificate(self.folder)
        self._limits = limits

    @property
    def base(self) -> str:
        return f"https://{HOST}:{self.port}"

    @property
    def plain_base(self) -> str:
        """The HTTP URL, which only redirects to HTTPS."""
        return f"http://{HOST}:{self.plain_port}"

    @property
    def access_log(self) -> Path:
        """Access log with a JSON line per request."""
        return self.folder / "access.log"

    def start(self) -> Self:
        self._require_stopped()
        if not Path(PROGRAM).exists():
            raise ClusterError(f"{PROGRAM} not found: run `python -m cluster install`")
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(MAIN_CONFIG.format(folder=self.folder, user=user))
        (self.folder / "cloudconsole.conf").write_text(self._config())
        command = [PROGRAM, "-p", str(self.folder), "-e", "stderr", "-c", str(self.folder / "nginx.conf")]
        self._tree = ProcessTree(command, folder=self.folder, log=self.log)
        self._wait_until_listening(self._tree)
        return self

    def _config(self) -> str:
        """Return the deployed configuration with addresses and paths replaced."""
        text = CONFIG_FILE.read_text()
        for original, replacement in self._substitutions():
            if original not in text:
                raise ClusterError(f"{CONFIG_FILE.name} does not contain {original!r}")
            text = text.replace(original, replacement)
        return text

    def _substitutions(self) -> Iterator[tuple[str, str]]:
        begin, end = "    server ", " max_fails=2 fail_timeout=5s;\n"
        lines = [f"{begin}{replica.removeprefix('http://')}{end}" for replica in self.replicas]
        yield f"{begin}127.0.0.1:8000{end}", "".join(lines)
        yield "listen 443 ", f"listen {HOST}:{self.port} "
        yield "    listen [::]:443 ssl http2;\n", ""
        yield "listen 80;", f"listen {HOST}:{self.plain_port};"
        yield "    listen [::]:80;\n", ""
        yield "server_name console.example.com;", f"server_name {HOST};"
        yield "https://$server_name$", f"https://$server_name:{self.port}$"
        yield "/etc/ssl/cloudconsole/certificate.pem", str(self.certificate)
        yield "/etc/ssl/cloudconsole/key.pem", str(self._key)
        yield "/var/log/nginx/cloudconsole.log", str(self.access_log)
        yield "/var/lib/cloudconsole-acme", str(self.folder / "acme")
        if not self._limits:
            yield "rate=100r/s;", "rate=1000000r/s;"
            yield "rate=10r/s;", "rate=1000000r/s;"
            yield "limit_conn cloudconsole_connections 100;", "limit_conn cloudconsole_connections 60000;"

    def _wait_until_listening(self, tree: ProcessTree) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((HOST, self.port), timeout=START_SECONDS).close()
            except OSError:
                if not tree.is_running or time.monotonic() > deadline:
                    tree.kill()
                    raise ClusterError(f"nginx did not start:\n{tree.log_tail()}") from None
                time.sleep(0.02)
            else:
                return

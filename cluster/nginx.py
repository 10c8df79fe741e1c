"""nginx with TLS in front of replicas: the very configuration that operators copy."""

import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from cluster.certificates import make_certificate
from cluster.errors import ClusterFailed
from cluster.part import HOST, Part, free_port
from cluster.processes import Family

CONFIGURATION: Final = Path(__file__).parents[1] / "deploy/nginx/cloudconsole.conf"
PROGRAM: Final = "/usr/sbin/nginx"
START_SECONDS: Final = 30

# What Debian's own nginx.conf says around the file, for a server that leaves everything else of the machine alone.
AROUND: Final = """
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


class Nginx(Part):
    """Its address is known before it is started, so that consoles can be told: `public_origin` is its `base`.

    `certificate` is a certificate and its key; without, it makes its own. `limits=False` lets a caller do as much as it
    likes, as a test of other things must.
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
        """Replicas by their addresses, such as `http://127.0.0.1:8000`."""
        super().__init__(name, folder)
        self.replicas = list(replicas)
        """They may be changed, for the next start."""
        self.plain_port = free_port()
        self.certificate, self._key = certificate or make_certificate(self.folder)
        self._limits = limits

    @property
    def base(self) -> str:
        return f"https://{HOST}:{self.port}"

    @property
    def plain_base(self) -> str:
        """Where it only says that there is https."""
        return f"http://{HOST}:{self.plain_port}"

    @property
    def access_log(self) -> Path:
        """A line for every request, in JSON."""
        return self.folder / "access.log"

    def start(self) -> Self:
        self._refuse_running()
        if not Path(PROGRAM).exists():
            raise ClusterFailed(f"there is no {PROGRAM}: `python -m cluster install` installs it")
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(AROUND.format(folder=self.folder, user=user))
        (self.folder / "cloudconsole.conf").write_text(self._configuration())
        command = [PROGRAM, "-p", str(self.folder), "-e", "stderr", "-c", str(self.folder / "nginx.conf")]
        self._family = Family(command, folder=self.folder, log=self.log)
        self._wait_until_listening(self._family)
        return self

    def _configuration(self) -> str:
        """The operators' file with this machine's places put in; all else is as it stands there."""
        text = CONFIGURATION.read_text()
        for original, put_in in self._substitutions():
            if original not in text:
                raise ClusterFailed(f"{CONFIGURATION.name} has no {original!r} that could be replaced")
            text = text.replace(original, put_in)
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

    def _wait_until_listening(self, family: Family) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((HOST, self.port), timeout=START_SECONDS).close()
            except OSError:
                if not family.is_running or time.monotonic() > deadline:
                    family.kill()
                    raise ClusterFailed(f"nginx did not start:\n{family.last_words()}") from None
                time.sleep(0.02)
            else:
                return

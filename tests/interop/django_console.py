"""Examine the Django console of the benchmark with the conformance suite, and compare with the expected result.

Runs in the console's environment: usage: PYTHON_WITH_DJANGO. The Django console has one of the six actions.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
PASSWORD = "console-demo"
QUOTAS = (
    *("instances", "cores", "ram", "volumes", "gigabytes", "snapshots", "floating_ips", "security_groups"),
    *("security_group_rules", "keypairs", "personality", "personality_size", "image_meta", "server_meta"),
)
TENANTS = [{"name": "demo", "quotas": dict.fromkeys(QUOTAS, 10), "usage": {}, "accounts": {"demo": PASSWORD}}]
MUST = {
    *("answers.GetFlavors", "answers.GetUrlList", "answers.GetNews", "answers.GetConsumptionsEstimated"),
    "session.sessionid-no-expiry",
}
SHOULD = {"login.region-required"}
"""It logs in without a region."""


def main(python: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        environment = {
            **os.environ,
            "BENCH_DJANGO_DATABASE": f"{directory}/django.db",
            "BENCH_DJANGO_KEY": secrets.token_hex(32),
            "DJANGO_SETTINGS_MODULE": "bench.django_console.settings",
        }
        fill = [python, "-m", "bench.django_console.fill"]
        subprocess.run(fill, input=json.dumps(TENANTS).encode(), env=environment, cwd=ROOT, check=True)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            # Inherited, so that no other program can take the port meanwhile.
            base = f"http://127.0.0.1:{listener.getsockname()[1]}"
            command = [python, "-m", "gunicorn", "bench.django_console.wsgi:app", "--bind", f"fd://{listener.fileno()}"]
            command += ["--worker-class", "gthread", "--threads", "4", "--log-level", "warning"]
            with (Path(directory) / "log").open("wb") as log:
                server = subprocess.Popen(
                    command, env=environment, cwd=ROOT, pass_fds=[listener.fileno()], stdout=log, stderr=log
                )
        try:
            _wait_for(base, server)
            return _examine(base, Path(directory) / "report.json")
        finally:
            server.terminate()
            server.wait()
            # Its log is of interest only if the examination fails.
            if sys.exc_info()[0] is not None:
                sys.stdout.write((Path(directory) / "log").read_text())


def _wait_for(base: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300
    while server.poll() is None and time.monotonic() < deadline:
        try:
            urlopen(f"{base}/api/", timeout=300).close()
        except URLError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the Django console did not start")


def _examine(base: str, report: Path) -> int:
    command = [sys.executable, "-m", "cloudconsole", "conformance", base, "--username", "demo", "--json", str(report)]
    done = subprocess.run(
        command, env={**os.environ, "CLOUDCONSOLE_PASSWORD": PASSWORD}, capture_output=True, text=True
    )
    checks = json.loads(report.read_text())["checks"] if report.exists() else []
    failed = {
        level: {check["id"] for check in checks if (check["level"], check["outcome"]) == (level, "failed")}
        for level in ("must", "should")
    }
    if (done.returncode, failed) != (1, {"must": MUST, "should": SHOULD}):
        sys.stdout.write(done.stdout + done.stderr)
        sys.stdout.write(f"expected: {sorted(MUST)} and {sorted(SHOULD)}\nfailed: {failed}\n")
        return 1
    sys.stdout.write(f"Django console: {len(MUST) + len(SHOULD)} checks failed, as expected\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

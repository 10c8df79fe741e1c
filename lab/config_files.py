"""Write the files that services need: configuration, keys, certificates, broker definitions."""

import base64
import hashlib
import json
import os
import shutil
import subprocess

from lab import config
from lab.plan import BROKER_PASSWORD, HOST, Plan


def write(plan: Plan) -> None:
    """Write all files of a lab."""
    _write_keystone(plan)
    for region in plan.regions:
        for project, sections in config.PROJECTS.items():
            path = plan.configuration(region, project)
            path.parent.mkdir(parents=True)
            path.write_text(config.to_ini(sections(plan, region)))
            (plan.data(region, project) / "locks").mkdir(parents=True)
        # Nova uses the first file in its folder, by name, as its paste configuration.
        shutil.copy(plan.venv / "etc/nova/api-paste.ini", plan.etc / region / "nova")
    _write_certificates(plan)
    _write_broker(plan)


def _write_keystone(plan: Plan) -> None:
    folder = plan.etc / "keystone"
    folder.mkdir(parents=True)
    (folder / "keystone.conf").write_text(config.to_ini(config.keystone(plan)))
    for repository in ("fernet-keys", "credential-keys"):
        (folder / repository).mkdir(mode=0o700)
        for number in ("0", "1"):  # the staged and the primary key
            key = folder / repository / number
            key.touch(mode=0o600)
            key.write_bytes(base64.urlsafe_b64encode(os.urandom(32)))


def _write_certificates(plan: Plan) -> None:
    """Create a CA and a client certificate, which Octavia requires but never uses here."""
    plan.certificates.mkdir(parents=True)
    request = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 30"
    secret = "pass:passphrase"
    for command in (
        f"{request} -x509 -keyout authority.key -out authority.pem -passout {secret} -subj /CN=authority",
        f"{request} -nodes -keyout client.key -out client.request -subj /CN=client",
        f"x509 -req -in client.request -CA authority.pem -CAkey authority.key -passin {secret} -CAcreateserial"
        " -out client.pem -days 30",
    ):
        subprocess.run(["openssl", *command.split()], cwd=plan.certificates, check=True, capture_output=True)
    with (plan.certificates / "client.pem").open("a") as client:
        client.write((plan.certificates / "client.key").read_text())


def _write_broker(plan: Plan) -> None:
    folder = plan.folder / "rabbitmq"
    folder.mkdir(mode=0o700)
    salt = os.urandom(4)
    digest = hashlib.sha256(salt + BROKER_PASSWORD.encode()).digest()
    hosts = [region.lower() for region in plan.regions]
    definitions = {
        "users": [
            {
                "name": "lab",
                "password_hash": base64.b64encode(salt + digest).decode(),
                "hashing_algorithm": "rabbit_password_hashing_sha256",
                "tags": "administrator",
            }
        ],
        "vhosts": [{"name": host} for host in hosts],
        "permissions": [
            {"user": "lab", "vhost": host, "configure": ".*", "write": ".*", "read": ".*"} for host in hosts
        ],
    }
    (folder / "definitions.json").write_text(json.dumps(definitions))
    (folder / "plugins").write_text("[].")
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = {HOST}:{plan.ports['rabbitmq']}\n"
        f"load_definitions = {folder}/definitions.json\n"
        "log.console.level = warning\n"
    )

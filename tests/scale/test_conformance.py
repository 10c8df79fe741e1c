"""The conformance kit against two replicas on PostgreSQL behind nginx, over HTTPS."""

import json
import time
from datetime import UTC
from pathlib import Path

import pytest
from cluster.postgres import PostgresServer

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from tests.e2e.processes import command
from tests.harness import CERTIFICATES, use_fast_hashes
from tests.scale.sites import two_replica_site
from tests.stores import set_database, store_in

pytestmark = pytest.mark.slow


def test_conformance_kit_passes(postgres: PostgresServer, database: str, tmp_path: Path) -> None:
    set_database(tmp_path, postgres.address(database))
    store_in(tmp_path).migrate()
    with store_in(tmp_path).opened("cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(time.time()), actor="tests")
    use_fast_hashes(tmp_path)
    passwords = {
        "CLOUDCONSOLE_PASSWORD": SAMPLE_PASSWORDS["demo"],
        "CLOUDCONSOLE_OTHER_PASSWORD": SAMPLE_PASSWORDS["other"],
    }
    with two_replica_site(tmp_path) as site:
        base = site.nginx.base
        account = ("--region", f"{base}/v3", "--username", "demo", "--other-username", "other")
        domains = ("--domain-id", "206813", "--domain-id", "206814")
        flags = ("--ca-file", str(CERTIFICATES / "rsa.pem"), "--profile", "all", "--strict")
        report = tmp_path / "report.json"
        done = command("conformance", base, *account, *domains, *flags, "--json", str(report), **passwords)
    checks = json.loads(report.read_text())["checks"]
    assert [check["id"] for check in checks if check["outcome"] != "passed"] == [], done.stdout
    assert (done.returncode, done.stderr) == (0, "")

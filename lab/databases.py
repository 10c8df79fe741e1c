"""MariaDB's data: made empty, filled from SQL, written out as SQL."""

import getpass
import subprocess

from lab.errors import LabFailed
from lab.plan import Plan


def create(plan: Plan) -> None:
    """Make the folder of an empty MariaDB."""
    _run(
        [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={plan.folder / 'mariadb'}",
            f"--user={getpass.getuser()}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]
    )


def execute(plan: Plan, sql: bytes) -> bytes:
    """Run statements in the lab's MariaDB; the answer is tab-separated rows."""
    return _run(["mariadb", "--no-defaults", "--user=root", f"--socket={plan.socket}", "--batch"], sql)


def written_out(plan: Plan, databases: list[str]) -> bytes:
    """The statements that make these databases anew."""
    return _run(
        [
            "mariadb-dump",
            "--no-defaults",
            "--user=root",
            f"--socket={plan.socket}",
            "--skip-dump-date",
            "--skip-comments",
            "--databases",
            *databases,
        ]
    )


def _run(command: list[str], given: bytes = b"") -> bytes:
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise LabFailed(f"{command[0]}: {said[-1000:]}")
    return done.stdout

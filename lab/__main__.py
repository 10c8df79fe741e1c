"""`python -m lab`: start, stop or inspect a real OpenStack on this machine, or recreate its database dump."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from openstack.exceptions import SDKException

from lab import bootstrap, databases, install, lifecycle
from lab.errors import LabError
from lab.plan import Plan
from lab.processes import Records, resident_bytes

USERS = "Users: alice (project acme) and bob (project globex), passwords alice-password and bob-password.\n"
ROOT = Path(__file__).parents[1]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="start a lab in the background")
    start.add_argument("--regions", type=int, choices=(1, 2), default=2, help="number of regions (default: 2)")
    start.add_argument("--no-seed", action="store_true", help="do not create users, projects and resources")
    commands.add_parser("stop", help="stop all services")
    commands.add_parser("status", help="show all services")
    commands.add_parser("dump", help="recreate the dump of the empty databases")
    for command in commands.choices.values():
        command.add_argument(
            "--folder",
            type=Path,
            default=Path(os.environ.get("LAB") or ROOT / ".lab"),
            help="data folder of the lab (default: $LAB, or .lab in the checkout)",
        )
        command.add_argument("--venv", type=Path, help="virtual environment of OpenStack (default: venv in the folder)")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    folder = options.folder.resolve()
    venv = (options.venv or folder / "venv").absolute()
    try:
        if options.command == "start":
            _start(folder, venv, options.regions, not options.no_seed)
        elif options.command == "stop":
            count = lifecycle.stop(folder)
            print(f"stopped {count} services" if count else "no service is running")
        elif options.command == "status":
            _status(folder)
        else:
            _dump(folder, venv)
    except (LabError, SDKException, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"lab: {error}\n")
        return 1
    return 0


def _logger() -> lifecycle.Log:
    started = time.monotonic()
    return lambda message: print(f"{time.monotonic() - started:6.1f} s  {message}", flush=True)


def _start(folder: Path, venv: Path, regions: int, seeded: bool) -> None:
    plan = lifecycle.start(folder, venv, regions, seeded, _logger())
    print(console_config(plan, seeded))


def console_config(plan: Plan, seeded: bool) -> str:
    """Return the console settings for a lab."""
    regions = ", ".join(f'"{region}"' for region in plan.regions)
    return f"""
Console settings:

[[identity]]
kind = "keystone"
address = "{plan.identity}"
regions = [{regions}]
interface = "public"
user_domain = "Default"

{USERS if seeded else ""}"""


def _status(folder: Path) -> None:
    recorded = Records(folder).all()
    for service, process in recorded.items():
        state = "running" if process.alive else "exited"
        print(f"{service:28} {process.pid:>8}  {state:7}  {resident_bytes(process) / 2**20:6.0f} MiB")
    if not recorded:
        print("no service is running")


def _dump(folder: Path, venv: Path) -> None:
    log = _logger()
    install.install(venv, log)
    bootstrap.create_dump(folder / lifecycle.BOOTSTRAP_FOLDER, venv, log).write(databases.DUMP_FOLDER)
    log(f"wrote {databases.DUMP_FOLDER}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

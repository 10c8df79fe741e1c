"""`python -m lab`: start a real OpenStack on this machine, look at it, end it, or make its dump anew."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from openstack.exceptions import SDKException

from lab import dump, installing, making, starting
from lab.errors import LabFailed
from lab.plan import Plan
from lab.processes import Records, resident

TENANTS = "Tenants: alice (project acme) and bob (globex), with the passwords alice-password and bob-password.\n"
HERE = Path(__file__).parents[1]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="bring a lab up and leave it running")
    start.add_argument("--regions", type=int, choices=(1, 2), default=2, help="how many regions (default: 2)")
    start.add_argument("--no-seed", action="store_true", help="leave out tenants and what they have")
    commands.add_parser("stop", help="end all that runs")
    commands.add_parser("status", help="show what runs")
    commands.add_parser("dump", help="make the dump of the empty databases anew, from nothing")
    for command in commands.choices.values():
        command.add_argument(
            "--folder",
            type=Path,
            default=Path(os.environ.get("LAB") or HERE / ".lab"),
            help="where all that the lab writes lies (default: $LAB, or .lab in the checkout)",
        )
        command.add_argument("--venv", type=Path, help="OpenStack's environment (default: venv in the folder)")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    chosen = parse(arguments)
    folder = chosen.folder.resolve()
    venv = (chosen.venv or folder / "venv").absolute()
    try:
        if chosen.command == "start":
            _start(folder, venv, chosen.regions, not chosen.no_seed)
        elif chosen.command == "stop":
            count = starting.stop(folder)
            print(f"ended {count} services" if count else "nothing runs")
        elif chosen.command == "status":
            _status(folder)
        else:
            _dump(folder, venv)
    except (LabFailed, SDKException, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"lab: {error}\n")
        return 1
    return 0


def _say() -> starting.Say:
    began = time.monotonic()
    return lambda what: print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)


def _start(folder: Path, venv: Path, regions: int, seeded: bool) -> None:
    plan = starting.start(folder, venv, regions, seeded, _say())
    print(pointing(plan, seeded))


def pointing(plan: Plan, seeded: bool) -> str:
    """How a console is pointed at a lab."""
    regions = ", ".join(f'"{region}"' for region in plan.regions)
    return f"""
A console's settings for it:

[[identity]]
kind = "keystone"
address = "{plan.identity}"
regions = [{regions}]
interface = "public"
user_domain = "Default"

{TENANTS if seeded else ""}"""


def _status(folder: Path) -> None:
    recorded = Records(folder).all()
    for service, process in recorded.items():
        state = "runs" if process.alive else "ended"
        print(f"{service:28} {process.pid:>8}  {state:5}  {resident(process) / 2**20:6.0f} MiB")
    if not recorded:
        print("nothing runs")


def _dump(folder: Path, venv: Path) -> None:
    say = _say()
    installing.install(venv, say)
    making.make(folder / starting.MAKING, venv, say).write(dump.KEPT)
    say(f"wrote {dump.KEPT}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

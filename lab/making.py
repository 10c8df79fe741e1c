"""The databases from nothing: each project's migrations, and what Keystone knows of the cloud."""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import catalogue, databases, dump, files, ports, processes, running, services
from lab.cloud import connect
from lab.errors import LabFailed
from lab.plan import ADMIN_PASSWORD, REGIONS, Plan, region_databases
from lab.processes import Records

Say = Callable[[str], None]


def make(folder: Path, venv: Path, say: Say) -> dump.Dump:
    """Make the databases in a folder of their own and take their dump; nothing is left running."""
    shutil.rmtree(folder, ignore_errors=True)
    plan = Plan(folder, venv, REGIONS, ports.choose(services.port_names(REGIONS)))
    files.write(plan)
    databases.create(plan)
    mariadb = services.infrastructure(plan)[0]
    keystone = services.keystone(plan)
    try:
        running.begin(plan, [mariadb])
        running.wait(plan, [mariadb])
        _migrate(plan, say)
        running.begin(plan, [keystone])
        running.wait(plan, [keystone])
        with connect(plan.identity, "admin", ADMIN_PASSWORD, "admin", REGIONS[0]) as admin:
            catalogue.write(plan, admin)
        return dump.take(plan)
    finally:
        processes.end(Records(folder).all().values())


def _migrate(plan: Plan, say: Say) -> None:
    region = plan.regions[0]
    names = ["keystone", *region_databases(region)]
    databases.execute(plan, "".join(f"CREATE DATABASE {name} CHARACTER SET utf8mb4;" for name in names).encode())

    def run_all(commands: list[list[str]]) -> None:
        for command in commands:
            run(plan, command)
        say(f"{Path(commands[0][0]).name}: done")

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(run_all, _commands(plan, region)))


def _commands(plan: Plan, region: str) -> list[list[list[str]]]:
    """What makes each project's tables; the longest first."""

    def manage(program: str, project: str, *commands: str) -> list[list[str]]:
        start = [plan.program(program), "--config-file", str(plan.configuration(region, project))]
        return [[*start, *command.split()] for command in commands]

    cell0 = plan.database(f"{region.lower()}_nova_cell0")
    addresses = " ".join(f"--bootstrap-{interface}-url {plan.identity}" for interface in catalogue.INTERFACES)
    bootstrap = f"bootstrap --bootstrap-password {ADMIN_PASSWORD} --bootstrap-region-id {region} {addresses}"
    keystone = [plan.program("keystone-manage"), "--config-file", str(plan.etc / "keystone" / "keystone.conf")]
    return [
        manage(
            "nova-manage",
            "nova",
            "api_db sync",
            f"cell_v2 map_cell0 --database_connection {cell0}",
            "db sync",
            "cell_v2 create_cell --name cell1",
        ),
        manage("neutron-db-manage", "neutron", "upgrade heads"),
        manage("octavia-db-manage", "octavia", "upgrade head"),
        manage("cinder-manage", "cinder", "db sync"),
        manage("glance-manage", "glance", "db_sync"),
        manage("placement-manage", "placement", "db sync"),
        [[*keystone, "db_sync"], [*keystone, *bootstrap.split()]],
    ]


def run(plan: Plan, command: list[str]) -> None:
    """Run a command to its end, on record like a service: if we are killed meanwhile, it can still be ended."""
    name = f"migrations/{Path(command[0]).name}"
    records = Records(plan.folder)
    process = processes.begin(command, services.environment(plan, plan.regions[0]), plan.log(name))
    records.add(name, process)
    status = os.waitpid(process.pid, 0)[1]
    records.remove(name)
    if os.waitstatus_to_exitcode(status):
        raise LabFailed(f"This failed: {' '.join(command)}\n{running.last_lines(plan, name)}")

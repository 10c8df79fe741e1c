"""Create the databases from scratch: run all migrations and create Keystone's service catalog."""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from openstack.connection import Connection

from lab import config_files, databases, ports, processes, services
from lab.cloud import connect, identity_of
from lab.errors import LabError
from lab.plan import ADMIN_PASSWORD, HOST, REGIONS, SERVICE_PASSWORD, Plan, region_databases
from lab.processes import Records
from lab.services import WSGI

Log = Callable[[str], None]
INTERFACES = ("public", "internal", "admin")
SERVICES = (
    ("compute", "nova", "nova-api", "/v2.1"),
    ("placement", "placement", "placement-api", ""),
    ("block-storage", "cinder", "cinder-api", "/v3/%(project_id)s"),
    ("volumev3", "cinderv3", "cinder-api", "/v3/%(project_id)s"),
    ("image", "glance", "glance-api", ""),
    ("network", "neutron", "neutron-api", ""),
    ("load-balancer", "octavia", "octavia-api", ""),
)


def create_dump(folder: Path, venv: Path, log: Log) -> databases.Dump:
    """Create the databases in a temporary lab and dump them; nothing is left running."""
    shutil.rmtree(folder, ignore_errors=True)
    plan = Plan(folder, venv, REGIONS, ports.allocate(services.port_names(REGIONS)))
    config_files.write(plan)
    databases.create(plan)
    mariadb = services.infrastructure(plan)[0]
    keystone = services.keystone(plan)
    try:
        services.start(plan, [mariadb])
        services.wait(plan, [mariadb])
        _migrate(plan, log)
        services.start(plan, [keystone])
        services.wait(plan, [keystone])
        with connect(plan.identity, "admin", ADMIN_PASSWORD, "admin", REGIONS[0]) as admin:
            _create_catalog(plan, admin)
        return databases.take_dump(plan)
    finally:
        processes.terminate(Records(folder).all().values())


def _migrate(plan: Plan, log: Log) -> None:
    region = plan.regions[0]
    names = ["keystone", *region_databases(region)]
    databases.execute(plan, "".join(f"CREATE DATABASE {name} CHARACTER SET utf8mb4;" for name in names).encode())

    def run_all(commands: list[list[str]]) -> None:
        for command in commands:
            run_command(plan, command)
        log(f"{Path(commands[0][0]).name}: done")

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(run_all, _commands(plan, region)))


def _commands(plan: Plan, region: str) -> list[list[list[str]]]:
    """Migration commands by service, the slowest first."""

    def manage(program: str, project: str, *commands: str) -> list[list[str]]:
        start = [plan.program(program), "--config-file", str(plan.configuration(region, project))]
        return [[*start, *command.split()] for command in commands]

    cell0 = plan.database(f"{region.lower()}_nova_cell0")
    addresses = " ".join(f"--bootstrap-{interface}-url {plan.identity}" for interface in INTERFACES)
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


def run_command(plan: Plan, command: list[str]) -> None:
    """Run a command to completion, recorded like a service so that `stop` ends it even if we are killed."""
    name = f"migrations/{Path(command[0]).name}"
    records = Records(plan.folder)
    process = processes.start(command, services.environment(plan, plan.regions[0]), plan.log(name))
    records.add(name, process)
    status = os.waitpid(process.pid, 0)[1]
    records.remove(name)
    if os.waitstatus_to_exitcode(status):
        raise LabError(f"command failed: {' '.join(command)}\n{services.log_tail(plan, name)}")


def _create_catalog(plan: Plan, admin: Connection) -> None:
    """Create service users and endpoints in a bootstrapped Keystone."""
    identity = identity_of(admin)
    project = identity.create_project(name="service", domain_id="default")
    roles = {role.name: role for role in identity.roles()}
    for name in WSGI:
        user = identity.create_user(name=name, password=SERVICE_PASSWORD, domain_id="default")
        for role in ("admin", "service"):
            identity.assign_project_role_to_user(project, user, roles[role])

    def add_endpoints(service: str, region: str, url: str) -> None:
        for interface in INTERFACES:
            identity.create_endpoint(service_id=service, region_id=region, interface=interface, url=url)

    keystone = next(service for service in identity.services() if service.type == "identity")
    for region in plan.regions[1:]:
        identity.create_region(id=region)
        add_endpoints(keystone.id, region, plan.identity)
    for kind, name, service, path in SERVICES:
        entry = identity.create_service(type=kind, name=name)
        for region in plan.regions:
            add_endpoints(entry.id, region, f"http://{HOST}:{plan.ports[f'{region}/{service}']}{path}")

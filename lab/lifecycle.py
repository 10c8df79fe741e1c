"""Start and stop a lab."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from openstack.connection import Connection
from openstack.exceptions import SDKException

from lab import bootstrap, config_files, databases, install, ports, processes, seed, services
from lab.cloud import connect
from lab.errors import LabError
from lab.plan import ADMIN_PASSWORD, REGIONS, Plan
from lab.processes import Records

Log = Callable[[str], None]
BOOTSTRAP_FOLDER = "bootstrap"  # of the temporary lab that creates a dump
MAX_FOLDER_LENGTH = 80  # paths of Unix sockets are limited to about 100 characters


def start(folder: Path, venv: Path, regions: int, seeded: bool, log: Log) -> Plan:
    """Start a lab and leave it running; on failure stop everything."""
    if any(process.alive for process in Records(folder).all().values()):
        raise LabError(f"a lab is already running in {folder}: run `python -m lab stop`")
    if len(str(folder)) > MAX_FOLDER_LENGTH:
        raise LabError(f"path too long for a Unix socket: {folder}")
    install.install(venv, log)
    _clear(folder)
    dump = _current_dump(folder, venv, log)
    chosen = REGIONS[:regions]
    plan = Plan(folder, venv, chosen, ports.allocate(services.port_names(chosen)))
    try:
        _start_services(plan, dump, log)
        users = seed.seed(plan, log) if seeded else seed.unseeded()
    except BaseException:
        stop(folder)
        raise
    plan.write({"users": users})
    return plan


def stop(folder: Path) -> int:
    """Stop all services of a lab; return how many were running."""
    (folder / "state.json").unlink(missing_ok=True)
    count = 0
    for records in (Records(folder), Records(folder / BOOTSTRAP_FOLDER)):
        recorded = records.all()
        count += sum(bool(processes.tree(process)) for process in recorded.values())
        processes.terminate(recorded.values())
        for service in recorded:
            records.remove(service)
    return count


def _clear(folder: Path) -> None:
    """Remove the data of an earlier lab, but not the installation."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("data", "etc", "log", BOOTSTRAP_FOLDER, "mariadb", "processes", "rabbitmq"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _current_dump(folder: Path, venv: Path, log: Log) -> databases.Dump:
    for source in (databases.DUMP_FOLDER, folder / "dump"):
        found = databases.Dump.read(source)
        if found and found.is_current:
            return found
    log("requirements/lab.txt changed: recreating the database dump (run `python -m lab dump` to save it)")
    created = bootstrap.create_dump(folder / BOOTSTRAP_FOLDER, venv, log)
    created.write(folder / "dump")
    return created


def _start_services(plan: Plan, dump: databases.Dump, log: Log) -> None:
    config_files.write(plan)
    mariadb, *broker = services.infrastructure(plan)
    services.start(plan, broker)  # slow, in parallel with the databases
    databases.create(plan)
    services.start(plan, [mariadb])
    services.wait(plan, [mariadb])
    databases.restore(plan, dump)
    log("MariaDB is running and restored")
    every = services.all_services(plan)
    apis = [service for service in every.values() if service.speaks_http]
    late = [every[f"{region}/nova-compute"] for region in plan.regions]
    daemons = [service for service in every.values() if not service.port and service not in late]
    services.start(plan, apis)
    services.wait(plan, broker)
    services.start(plan, daemons)
    # Last: a hypervisor that does not find Placement retries only after a minute.
    services.wait(plan, [every["keystone"], *(every[f"{region}/placement-api"] for region in plan.regions)])
    services.start(plan, late)
    services.wait(plan, apis)
    log("all APIs respond")
    for region in plan.regions:
        _wait_for_daemons(plan, region, list(every))
        log(f"{region} is ready")


def _wait_for_daemons(plan: Plan, region: str, watched: list[str]) -> None:
    with connect(plan.identity, "admin", ADMIN_PASSWORD, "admin", region) as admin:
        services.wait_until(plan, lambda: _missing(admin, region), watched)


def _missing(admin: Connection, region: str) -> str:
    """Return a service of a region that is not up yet, or an empty string."""
    try:
        up = {service.binary for service in admin.compute.services() if service.state == "up"}
        up |= {service.binary for service in admin.block_storage.services() if service.state == "up"}
        hypervisors = list(admin.compute.hypervisors())
        pools = list(admin.block_storage.backend_pools())
        candidates = admin.placement.get("/allocation_candidates?resources=VCPU:1", microversion="1.10").json()
    except SDKException:
        time.sleep(1)
        return f"{region}/nova-api"
    expected = {"nova-conductor", "nova-scheduler", "nova-compute", "cinder-scheduler", "cinder-volume"}
    if absent := sorted(expected - up):
        return f"{region}/{absent[0]}"
    if not candidates["allocation_requests"]:  # a hypervisor is listed before Placement has its inventory
        return f"{region}/nova-compute"
    if not pools:  # the scheduler may have missed the first report of cinder-volume, and waits a minute for the next
        return f"{region}/cinder-volume"
    return "" if hypervisors else f"{region}/nova-scheduler"

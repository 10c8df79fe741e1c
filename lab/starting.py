"""Bringing a lab up, from whatever is there to all services ready, and ending it."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from openstack.connection import Connection
from openstack.exceptions import SDKException

from lab import databases, dump, files, installing, making, ports, processes, running, seeding, services
from lab.cloud import connect
from lab.errors import LabFailed
from lab.plan import ADMIN_PASSWORD, REGIONS, Plan
from lab.processes import Records

Say = Callable[[str], None]
MAKING = "making"  # where a dump is made, in the lab's folder
LONGEST_FOLDER = 80  # a socket's whole path has about a hundred characters


def start(folder: Path, venv: Path, regions: int, seeded: bool, say: Say) -> Plan:
    """Bring a lab up and leave it running; where that fails, nothing of it is left running."""
    if any(process.alive for process in Records(folder).all().values()):
        raise LabFailed(f"a lab runs in {folder} already: `python -m lab stop` ends it")
    if len(str(folder)) > LONGEST_FOLDER:
        raise LabFailed(f"{folder} is too long a path: a socket in it could not be opened")
    installing.install(venv, say)
    _clear(folder)
    kept = _dump(folder, venv, say)
    chosen = REGIONS[:regions]
    plan = Plan(folder, venv, chosen, ports.choose(services.port_names(chosen)))
    try:
        _begin(plan, kept, say)
        users = seeding.seed(plan, say) if seeded else seeding.unseeded()
    except BaseException:
        stop(folder)
        raise
    plan.write({"users": users})
    return plan


def stop(folder: Path) -> int:
    """End all that a lab has running; the answer is how many services that were."""
    (folder / "state.json").unlink(missing_ok=True)
    count = 0
    for records in (Records(folder), Records(folder / MAKING)):
        recorded = records.all()
        count += sum(bool(processes.tree(process)) for process in recorded.values())
        processes.end(recorded.values())
        for service in recorded:
            records.remove(service)
    return count


def _clear(folder: Path) -> None:
    """Take away what an earlier lab left, but not what was installed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("data", "etc", "log", MAKING, "mariadb", "processes", "rabbitmq"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _dump(folder: Path, venv: Path, say: Say) -> dump.Dump:
    for place in (dump.KEPT, folder / "dump"):
        found = dump.Dump.read(place)
        if found and found.fits:
            return found
    say("requirements/lab.txt changed since the dump was made: making it anew (`python -m lab dump` would keep it)")
    made = making.make(folder / MAKING, venv, say)
    made.write(folder / "dump")
    return made


def _begin(plan: Plan, kept: dump.Dump, say: Say) -> None:
    files.write(plan)
    mariadb, *broker = services.infrastructure(plan)
    running.begin(plan, broker)  # it takes a while, which the databases can use
    databases.create(plan)
    running.begin(plan, [mariadb])
    running.wait(plan, [mariadb])
    dump.restore(plan, kept)
    say("MariaDB runs and has its data")
    every = services.all_services(plan)
    apis = [service for service in every.values() if service.speaks_http]
    late = [every[f"{region}/nova-compute"] for region in plan.regions]
    daemons = [service for service in every.values() if not service.port and service not in late]
    running.begin(plan, apis)
    running.wait(plan, broker)
    running.begin(plan, daemons)
    # A hypervisor that finds no Placement asks again a minute later: so it comes last.
    running.wait(plan, [every["keystone"], *(every[f"{region}/placement-api"] for region in plan.regions)])
    running.begin(plan, late)
    running.wait(plan, apis)
    say("all interfaces answer")
    for region in plan.regions:
        _wait_for_daemons(plan, region, list(every))
        say(f"{region} is ready")


def _wait_for_daemons(plan: Plan, region: str, watched: list[str]) -> None:
    with connect(plan.identity, "admin", ADMIN_PASSWORD, "admin", region) as admin:
        running.wait_until(plan, lambda: _missing(admin, region), watched)


def _missing(admin: Connection, region: str) -> str:
    """A service of a region that the others do not see yet."""
    try:
        up = {service.binary for service in admin.compute.services() if service.state == "up"}
        up |= {service.binary for service in admin.block_storage.services() if service.state == "up"}
        hypervisors = list(admin.compute.hypervisors())
        room = admin.placement.get("/allocation_candidates?resources=VCPU:1", microversion="1.10").json()
    except SDKException:
        time.sleep(1)
        return f"{region}/nova-api"
    expected = {"nova-conductor", "nova-scheduler", "nova-compute", "cinder-scheduler", "cinder-volume"}
    if absent := sorted(expected - up):
        return f"{region}/{absent[0]}"
    if not room["allocation_requests"]:  # a hypervisor is listed before Placement knows what it has
        return f"{region}/nova-compute"
    return "" if hypervisors else f"{region}/nova-scheduler"

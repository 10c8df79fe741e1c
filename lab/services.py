"""The services of a lab: command, environment and port of each; start them and wait until they respond."""

import getpass
import http.client
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lab import processes
from lab.errors import LabError
from lab.plan import HOST, Plan
from lab.processes import Records

WSGI_SERVER = Path(__file__).with_name("wsgi_server.py")
WSGI = {
    "placement": "placement.wsgi.api",
    "nova": "nova.wsgi.osapi_compute",
    "cinder": "cinder.wsgi.api",
    "glance": "glance.wsgi.api",
    "neutron": "neutron.wsgi.api",
    "octavia": "octavia.wsgi.api",
}
DAEMONS = {
    "nova-conductor": "nova",
    "nova-scheduler": "nova",
    "nova-compute": "nova",
    "cinder-scheduler": "cinder",
    "cinder-volume": "cinder",
    "octavia-worker": "octavia",
}
INFRASTRUCTURE = ("mariadb", "epmd", "rabbitmq")
READY_SECONDS = 420  # for all services together, on a busy machine


@dataclass(frozen=True)
class Service:
    """One service: `RegionOne/nova-api`, or `keystone`, which all regions share."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(repr=False)
    port: int | None = None
    """None if it only uses the message broker."""
    speaks_http: bool = False


def port_names(regions: tuple[str, ...]) -> list[str]:
    """Names of all ports of a lab."""
    apis = [f"{region}/{project}-api" for region in regions for project in WSGI]
    return [*INFRASTRUCTURE, "rabbitmq-distribution", "keystone", *apis]


def all_services(plan: Plan) -> dict[str, Service]:
    """Return all services of a lab by name, in start order."""
    services = [*infrastructure(plan), keystone(plan)]
    for region in plan.regions:
        services += [_api(plan, region, project) for project in WSGI]
        services += [_daemon(plan, region, name) for name in DAEMONS]
    return {service.name: service for service in services}


def infrastructure(plan: Plan) -> list[Service]:
    """Services that must run before OpenStack starts."""
    return [_mariadb(plan), _epmd(plan), _rabbitmq(plan)]


def keystone(plan: Plan) -> Service:
    port = plan.ports["keystone"]
    command = (plan.program("python"), str(WSGI_SERVER), "keystone.wsgi.api", HOST, str(port))
    return Service("keystone", command, environment(plan, plan.regions[0]), port, speaks_http=True)


def environment(plan: Plan, region: str) -> dict[str, str]:
    """Environment of a region's services and commands; nothing is inherited."""
    etc = plan.etc / region
    return _plain(plan) | {
        "PYTHONWARNINGS": "ignore",
        "OS_KEYSTONE_CONFIG_FILES": str(plan.etc / "keystone" / "keystone.conf"),
        "OS_PLACEMENT_CONFIG_DIR": str(etc / "placement"),
        "OS_NOVA_CONFIG_DIR": str(etc / "nova"),
        "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1",
        "OS_GLANCE_CONFIG_DIR": str(etc / "glance"),
        "OS_NEUTRON_CONFIG_DIR": str(etc / "neutron"),
        "OS_NEUTRON_CONFIG_FILES": "neutron.conf",
    }


def _plain(plan: Plan) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(plan.folder), "LANG": "C.UTF-8"}


def _api(plan: Plan, region: str, project: str) -> Service:
    name = f"{region}/{project}-api"
    port = plan.ports[name]
    command = [plan.program("python"), str(WSGI_SERVER), WSGI[project], HOST, str(port)]
    variables = environment(plan, region)
    if project in ("cinder", "octavia"):
        command += ["--config-file", str(plan.configuration(region, project))]
    if project == "neutron":
        # Its test mechanism driver has assertions that hold only in Neutron's own tests.
        variables["PYTHONOPTIMIZE"] = "1"
    return Service(name, tuple(command), variables, port, speaks_http=True)


def _daemon(plan: Plan, region: str, name: str) -> Service:
    configuration = plan.configuration(region, DAEMONS[name])
    command = (plan.program(name), "--config-file", str(configuration))
    return Service(f"{region}/{name}", command, environment(plan, region))


def _mariadb(plan: Plan) -> Service:
    data = plan.folder / "mariadb"
    command = (
        "/usr/sbin/mariadbd",
        "--no-defaults",
        f"--user={getpass.getuser()}",
        f"--datadir={data}",
        f"--socket={plan.socket}",
        f"--pid-file={data}/mariadb.pid",
        f"--bind-address={HOST}",
        f"--port={plan.ports['mariadb']}",
        "--character-set-server=utf8mb4",
        "--max-connections=500",
        "--skip-log-bin",
        "--skip-name-resolve",
        # The data need not survive a crash, so nothing waits for disks. A file for each of a thousand tables would
        # make restoring ten times slower.
        "--innodb-file-per-table=OFF",
        "--sync-frm=OFF",
        "--innodb-buffer-pool-size=128M",
        "--innodb-doublewrite=0",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-log-file-size=32M",
        "--performance-schema=OFF",
    )
    return Service("mariadb", command, _plain(plan), plan.ports["mariadb"])


def _epmd(plan: Plan) -> Service:
    """Erlang's port mapper; one started by RabbitMQ would outlive it and serve the whole machine."""
    program = shutil.which("epmd") or "/usr/bin/epmd"
    port = plan.ports["epmd"]
    return Service("epmd", (program, "-address", HOST, "-port", str(port)), _plain(plan), port)


def _rabbitmq(plan: Plan) -> Service:
    home = plan.folder / "rabbitmq"
    variables = _plain(plan) | {
        "HOME": str(home),
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": str(plan.ports["epmd"]),
        "RABBITMQ_NODENAME": "lab@localhost",
        "RABBITMQ_DIST_PORT": str(plan.ports["rabbitmq-distribution"]),
        "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_PID_FILE": str(home / "rabbitmq.pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none",
    }
    return Service("rabbitmq", ("/usr/lib/rabbitmq/bin/rabbitmq-server",), variables, plan.ports["rabbitmq"])


def start(plan: Plan, services: Iterable[Service]) -> None:
    """Start services, recording each before the next one starts."""
    records = Records(plan.folder)
    for service in services:
        records.add(service.name, processes.start(service.command, service.environment, plan.log(service.name)))


def wait(plan: Plan, services: Iterable[Service], timeout: float = READY_SECONDS) -> None:
    """Wait until all services with a port respond."""
    pending = {service.name: service for service in services if service.port}

    def first_unready() -> str:
        for name, service in list(pending.items()):
            if responds(service):
                del pending[name]
        return next(iter(pending), "")

    wait_until(plan, first_unready, list(pending), timeout)


def wait_until(plan: Plan, missing: Callable[[], str], watched: Iterable[str], timeout: float = READY_SECONDS) -> None:
    """Wait until no service is missing; fail early if a watched one exits."""
    deadline = time.monotonic() + timeout
    records = Records(plan.folder)
    while name := missing():
        for service in watched:
            process = records.get(service)
            if process and not process.alive:
                raise LabError(f"{service} exited. {log_tail(plan, service)}")
        if time.monotonic() > deadline:
            raise LabError(f"{name} is not ready after {timeout:.0f} seconds. {log_tail(plan, name)}")
        time.sleep(0.2)


def responds(service: Service) -> bool:
    """Whether a service responds on its port, with any status."""
    if service.speaks_http:
        connection = http.client.HTTPConnection(HOST, service.port, timeout=10)
        try:
            connection.request("GET", "/")
            connection.getresponse()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True
    try:
        socket.create_connection((HOST, service.port or 0), 1).close()
    except OSError:
        return False
    return True


def log_tail(plan: Plan, service: str, count: int = 15) -> str:
    log = plan.log(service)
    try:
        lines = log.read_text(errors="replace").splitlines()[-count:]
    except FileNotFoundError:
        return "It has no log."
    return "\n".join([f"The last lines of {log}:", *lines])

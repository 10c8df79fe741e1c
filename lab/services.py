"""The services of a lab: the command that each is, in what environment, and the port that it listens on."""

import getpass
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from lab.plan import HOST, Plan

SERVE = Path(__file__).with_name("serve.py")
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


@dataclass(frozen=True)
class Service:
    """One service: `RegionOne/nova-api`, or `keystone`, which all regions share."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(repr=False)
    port: int | None = None
    """None: it listens to the broker alone."""
    speaks_http: bool = False


def port_names(regions: tuple[str, ...]) -> list[str]:
    """All that a lab needs a port for."""
    apis = [f"{region}/{project}-api" for region in regions for project in WSGI]
    return [*INFRASTRUCTURE, "rabbitmq-distribution", "keystone", *apis]


def all_services(plan: Plan) -> dict[str, Service]:
    """Every service of a lab by its name, in the order they are begun."""
    services = [*infrastructure(plan), keystone(plan)]
    for region in plan.regions:
        services += [_api(plan, region, project) for project in WSGI]
        services += [_daemon(plan, region, name) for name in DAEMONS]
    return {service.name: service for service in services}


def infrastructure(plan: Plan) -> list[Service]:
    """What has to run before any service of OpenStack starts."""
    return [_mariadb(plan), _epmd(plan), _rabbitmq(plan)]


def keystone(plan: Plan) -> Service:
    port = plan.ports["keystone"]
    command = (plan.program("python"), str(SERVE), "keystone.wsgi.api", HOST, str(port))
    return Service("keystone", command, environment(plan, plan.regions[0]), port, speaks_http=True)


def environment(plan: Plan, region: str) -> dict[str, str]:
    """What a region's services and commands run with; nothing of the caller's but the way to programs."""
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
    command = [plan.program("python"), str(SERVE), WSGI[project], HOST, str(port)]
    variables = environment(plan, region)
    if project in ("cinder", "octavia"):
        command += ["--config-file", str(plan.configuration(region, project))]
    if project == "neutron":
        # Its mechanism driver for tests asserts what holds in Neutron's own tests alone.
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
        # A lab's data may be lost with the machine: what waits for disks is left out. With a file for each of a
        # thousand tables their restoring took ten times as long.
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
    """Erlang's port mapper: begun by us, since one begun by RabbitMQ would outlive it and serve all on this machine."""
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

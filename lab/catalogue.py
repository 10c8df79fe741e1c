"""What Keystone knows of the cloud: the services' own users, and where in each region they are."""

from openstack.connection import Connection

from lab.cloud import identity_of
from lab.plan import HOST, SERVICE_PASSWORD, Plan
from lab.services import WSGI

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


def write(plan: Plan, admin: Connection) -> None:
    """Enter all of it into a Keystone that knows its administrator, and itself in the first region, alone."""
    identity = identity_of(admin)
    project = identity.create_project(name="service", domain_id="default")
    roles = {role.name: role for role in identity.roles()}
    for name in WSGI:
        user = identity.create_user(name=name, password=SERVICE_PASSWORD, domain_id="default")
        for role in ("admin", "service"):
            identity.assign_project_role_to_user(project, user, roles[role])

    def enter(service: str, region: str, url: str) -> None:
        for interface in INTERFACES:
            identity.create_endpoint(service_id=service, region_id=region, interface=interface, url=url)

    keystone = next(service for service in identity.services() if service.type == "identity")
    for region in plan.regions[1:]:
        identity.create_region(id=region)
        enter(keystone.id, region, plan.identity)
    for kind, name, service, path in SERVICES:
        entry = identity.create_service(type=kind, name=name)
        for region in plan.regions:
            enter(entry.id, region, f"http://{HOST}:{plan.ports[f'{region}/{service}']}{path}")

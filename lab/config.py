"""Configuration of the OpenStack services, each running on the loopback address."""

from collections.abc import Callable
from typing import Any

from lab.plan import HOST, SERVICE_PASSWORD, Plan

Sections = dict[str, dict[str, Any]]

# The only host on which Neutron's test mechanism driver binds ports; servers get addresses without an agent.
COMPUTE_HOST = "host-ovs-filter-active"
LOCKOUT_ATTEMPTS = 5
LOCKOUT_SECONDS = 5


def keystone(plan: Plan) -> Sections:
    return {
        "database": database(plan, "keystone"),
        "token": {"provider": "fernet", "expiration": 86400},
        "fernet_tokens": {"key_repository": plan.etc / "keystone" / "fernet-keys"},
        "fernet_receipts": {"key_repository": plan.etc / "keystone" / "fernet-keys"},
        "credential": {"key_repository": plan.etc / "keystone" / "credential-keys"},
        # Without a cache and with the default password cost each request takes half a second.
        "cache": {"enabled": True, "backend": "dogpile.cache.memory"},
        "identity": {"password_hash_rounds": 4},
        "security_compliance": {
            "lockout_failure_attempts": LOCKOUT_ATTEMPTS,
            "lockout_duration": LOCKOUT_SECONDS,
        },
    }


def placement(plan: Plan, region: str) -> Sections:
    return {
        "api": {"auth_strategy": "keystone"},
        "placement_database": database(plan, f"{region.lower()}_placement"),
        "keystone_authtoken": token_validation(plan, "placement"),
    }


def nova(plan: Plan, region: str) -> Sections:
    here = {"region_name": region}
    return {
        "DEFAULT": {
            "concurrency_backend": "threading",
            "my_ip": HOST,
            "host": COMPUTE_HOST,
            "state_path": plan.data(region, "nova"),
            "transport_url": plan.broker(region),
            "compute_driver": "fake.FakeDriver",
            "vif_plugging_is_fatal": False,
            "vif_plugging_timeout": 0,
            "periodic_fuzzy_delay": 0,  # otherwise the hypervisor is discovered up to a minute later
        },
        "api": {"auth_strategy": "keystone"},
        "database": database(plan, f"{region.lower()}_nova"),
        "api_database": database(plan, f"{region.lower()}_nova_api"),
        "conductor": {"workers": 1},
        "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": 2},
        "vnc": {"enabled": False},
        "oslo_concurrency": locks(plan, region, "nova"),
        "glance": here,
        "keystone_authtoken": token_validation(plan, "nova"),
        "placement": credentials(plan, "placement") | here,
        "neutron": credentials(plan, "neutron") | here,
        "cinder": credentials(plan, "cinder") | {"os_region_name": region},
        "service_user": credentials(plan, "nova") | {"send_service_user_token": True},
    }


def cinder(plan: Plan, region: str) -> Sections:
    return {
        "DEFAULT": {
            "my_ip": HOST,
            "host": "lab",
            "state_path": plan.data(region, "cinder"),
            "transport_url": plan.broker(region),
            "auth_strategy": "keystone",
            "api_paste_config": plan.venv / "etc/cinder/api-paste.ini",
            "resource_query_filters_file": plan.venv / "etc/cinder/resource_filters.json",
            "enabled_backends": "fake",
            "default_volume_type": "__DEFAULT__",
            "periodic_fuzzy_delay": 0,
        },
        "fake": {
            "volume_driver": "cinder.tests.fake_driver.FakeLoggingVolumeDriver",
            "volume_backend_name": "fake",
        },
        "database": database(plan, f"{region.lower()}_cinder"),
        "oslo_concurrency": locks(plan, region, "cinder"),
        "keystone_authtoken": token_validation(plan, "cinder"),
        "nova": credentials(plan, "nova") | {"region_name": region},
        "service_user": credentials(plan, "cinder") | {"send_service_user_token": True},
    }


def glance(plan: Plan, region: str) -> Sections:
    images = plan.data(region, "glance")
    return {
        "DEFAULT": {"enabled_backends": "store:file"},
        "glance_store": {"default_backend": "store"},
        "store": {"filesystem_store_datadir": images / "images"},
        "os_glance_staging_store": {"filesystem_store_datadir": images / "staging"},
        "os_glance_tasks_store": {"filesystem_store_datadir": images / "tasks"},
        "database": database(plan, f"{region.lower()}_glance"),
        "paste_deploy": {"flavor": "keystone", "config_file": plan.venv / "etc/glance/glance-api-paste.ini"},
        "keystone_authtoken": token_validation(plan, "glance"),
    }


def neutron(plan: Plan, region: str) -> Sections:
    here = {"region_name": region}
    return {
        "DEFAULT": {
            "state_path": plan.data(region, "neutron"),
            "core_plugin": "ml2",
            "service_plugins": "router",
            "transport_url": plan.broker(region),
            "auth_strategy": "keystone",
            "api_paste_config": plan.venv / "etc/neutron/api-paste.ini",
            "notify_nova_on_port_status_changes": False,
            "notify_nova_on_port_data_changes": False,
            "dhcp_agent_notification": False,
        },
        "database": database(plan, f"{region.lower()}_neutron"),
        "oslo_concurrency": locks(plan, region, "neutron"),
        "ml2": {
            "type_drivers": "local,flat,vxlan",
            "tenant_network_types": "vxlan",
            "mechanism_drivers": "test",
            "extension_drivers": "port_security",
        },
        "ml2_type_vxlan": {"vni_ranges": "1:1000"},
        "ml2_type_flat": {"flat_networks": "public"},
        "keystone_authtoken": token_validation(plan, "neutron"),
        "nova": credentials(plan, "nova") | here,
        "placement": credentials(plan, "placement") | here,
    }


def octavia(plan: Plan, region: str) -> Sections:
    here = {"region_name": region}
    authority = plan.certificates / "authority.pem"
    sockets = plan.data(region, "octavia")
    return {
        "DEFAULT": {"transport_url": plan.broker(region)},
        "api_settings": {
            "auth_strategy": "keystone",
            "enabled_provider_drivers": "amphora:amphora",
            "default_provider_driver": "amphora",
        },
        "database": database(plan, f"{region.lower()}_octavia"),
        "oslo_messaging": {"topic": "octavia_prov"},
        # Octavia's no-op provider leaves load balancers pending forever; amphora with no-op drivers does not.
        "controller_worker": {
            "workers": 1,
            "amphora_driver": "amphora_noop_driver",
            "compute_driver": "compute_noop_driver",
            "network_driver": "network_noop_driver",
            "image_driver": "image_noop_driver",
            "volume_driver": "volume_noop_driver",
            "client_ca": authority,
            "loadbalancer_topology": "SINGLE",
        },
        "certificates": {
            "cert_manager": "noop_cert_manager",
            "ca_certificate": authority,
            "ca_private_key": plan.certificates / "authority.key",
            "ca_private_key_passphrase": "passphrase",
            "server_certs_key_passphrase": "a-passphrase-of-32-characters-ok",
        },
        "haproxy_amphora": {"server_ca": authority, "client_cert": plan.certificates / "client.pem"},
        "health_manager": {"heartbeat_key": "heartbeat"},
        "driver_agent": {
            "status_socket_path": sockets / "status.sock",
            "stats_socket_path": sockets / "stats.sock",
            "get_socket_path": sockets / "get.sock",
        },
        "keystone_authtoken": token_validation(plan, "octavia"),
        "service_auth": credentials(plan, "octavia"),
        "neutron": credentials(plan, "octavia") | here,
        "nova": here,
        "glance": here,
        "cinder": here,
    }


PROJECTS: dict[str, Callable[[Plan, str], Sections]] = {
    "placement": placement,
    "nova": nova,
    "cinder": cinder,
    "glance": glance,
    "neutron": neutron,
    "octavia": octavia,
}


def to_ini(sections: Sections) -> str:
    """Format sections as an INI file."""
    lines: list[str] = []
    for section, options in sections.items():
        lines += [f"[{section}]", *(f"{name} = {_format(value)}" for name, value in options.items()), ""]
    return "\n".join(lines)


def _format(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def database(plan: Plan, name: str) -> dict[str, Any]:
    """Database options of a service."""
    return {"connection": plan.database(name), "max_pool_size": 3, "max_overflow": 10}


def locks(plan: Plan, region: str, project: str) -> dict[str, Any]:
    """Lock path of a service."""
    return {"lock_path": plan.data(region, project) / "locks"}


def credentials(plan: Plan, user: str) -> dict[str, Any]:
    """Keystone credentials of a service user."""
    return {
        "auth_url": plan.keystone,
        "auth_type": "password",
        "project_domain_name": "Default",
        "user_domain_name": "Default",
        "project_name": "service",
        "username": user,
        "password": SERVICE_PASSWORD,
    }


def token_validation(plan: Plan, user: str) -> dict[str, Any]:
    """Options for validating clients' tokens."""
    return credentials(plan, user) | {
        "www_authenticate_uri": plan.keystone,
        "service_token_roles_required": True,
        "service_token_roles": "service",
        # By default a revoked token stays valid for five minutes.
        "token_cache_time": 5,
    }

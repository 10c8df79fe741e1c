"""The services of a lab."""

import dataclasses

from lab.plan import REGIONS, Plan

from lab import services


def test_regions_have_the_same_services_and_share_keystone(plan: Plan) -> None:
    names = list(services.all_services(plan))
    of = {region: [name.partition("/")[2] for name in names if name.startswith(region)] for region in REGIONS}
    assert of[REGIONS[0]] == of[REGIONS[1]]
    assert {"nova-api", "nova-compute", "cinder-api", "octavia-worker"} <= set(of[REGIONS[0]])
    assert [name for name in names if "/" not in name] == ["mariadb", "epmd", "rabbitmq", "keystone"]


def test_a_single_region_needs_no_ports_of_the_other(plan: Plan) -> None:
    chosen = REGIONS[:1]
    ports = {name: plan.ports[name] for name in services.port_names(chosen)}
    alone = services.all_services(dataclasses.replace(plan, regions=chosen, ports=ports))
    assert not any(name.startswith(REGIONS[1]) for name in alone)


def test_services_do_not_inherit_the_environment(plan: Plan) -> None:
    for service in services.all_services(plan).values():
        assert not {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "http_proxy", "OS_CLOUD"} & set(service.environment)

"""The table of a lab's services."""

import dataclasses

from lab.plan import REGIONS, Plan

from lab import services


def test_each_region_has_the_same_services_beside_a_shared_keystone(plan: Plan) -> None:
    names = list(services.all_services(plan))
    of = {region: [name.partition("/")[2] for name in names if name.startswith(region)] for region in REGIONS}
    assert of[REGIONS[0]] == of[REGIONS[1]]
    assert {"nova-api", "nova-compute", "cinder-api", "octavia-worker"} <= set(of[REGIONS[0]])
    assert [name for name in names if "/" not in name] == ["mariadb", "epmd", "rabbitmq", "keystone"]


def test_one_region_alone_needs_no_port_of_the_other(plan: Plan) -> None:
    chosen = REGIONS[:1]
    ports = {name: plan.ports[name] for name in services.port_names(chosen)}
    alone = services.all_services(dataclasses.replace(plan, regions=chosen, ports=ports))
    assert not any(name.startswith(REGIONS[1]) for name in alone)


def test_nothing_of_the_callers_environment_reaches_a_service(plan: Plan) -> None:
    for service in services.all_services(plan).values():
        assert not {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "http_proxy", "OS_CLOUD"} & set(service.environment)

"""What can be chosen from a list of flavors: the selectable values and the relation between cores and RAM."""

from cloudconsole.spec.records import Flavor, FlavorConfigs, Flavors


def flavors_record(flavors: list[Flavor]) -> Flavors:
    """The record whose `configs` and `limits` agree with the flavors, ascending and without repeats."""
    ram_by_vcpus: dict[int, set[int]] = {}
    for flavor in flavors:
        ram_by_vcpus.setdefault(flavor.vcpus, set()).add(flavor.ram)
    configs = FlavorConfigs(vcpus=sorted(ram_by_vcpus), ram=sorted({flavor.ram for flavor in flavors}))
    limits = {str(vcpus): sorted(ram_by_vcpus[vcpus]) for vcpus in configs.vcpus}
    return Flavors(flavors, configs, limits)
